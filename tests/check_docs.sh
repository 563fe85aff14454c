#!/bin/sh
# Tables against manual pages, in both directions. Speaks TAP.
#
# A row of `pages` names a program and a page. The program prints what the page must list, one line an entry:
# heading, tab, item; the page must have just these items, as ".It" of lists below that heading (.Sh or .Ss).
# Items are compared as a whole, so a type, a limit, a default or an argument cannot drift either. Only items that
# begin with Cm (a word of the interface) or Fl (an option) count. builddir has the programs, srcdir the pages.
set -u
pages="
tests/list_protocol man/lorch-protocol.7
tests/list_lorchctl man/lorchctl.1
tests/list_lorchd man/lorchd.8
tests/list_models man/lorch-models.7
"

page_items() {
    awk '
        /^\.S[hs] / { heading = $0; sub(/^\.S[hs] /, "", heading); gsub(/"/, "", heading) }
        /^\.It (Cm|Fl) / { item = $0; sub(/^\.It /, "", item); gsub(/"/, "", item); print heading "\t" item }
    ' "$1" | LC_ALL=C sort
}

n=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# The comparison itself: one item too many, one missing, one with another default.
check() { # page-items table-items -> prints what differs
    LC_ALL=C comm -23 "$1" "$2" | sed 's/^/only in the page: /'
    LC_ALL=C comm -13 "$1" "$2" | sed 's/^/only in the table: /'
}
printf '.Sh A\n.Bl\n.It Cm x No integer\n.It Cm ghost\n.It Ev HOME\n.Ss B b\n.It Fl -n Ar N\n' >"$work/page"
page_items "$work/page" >"$work/got"
printf 'A\tCm x No number\nB b\tFl -n Ar N\n' >"$work/want"
n=$((n + 1))
if [ "$(check "$work/got" "$work/want" | wc -l)" -eq 3 ]; then
    echo "ok $n - the comparison finds a ghost and a changed type"
else
    echo "not ok $n - the comparison finds a ghost and a changed type"
fi

while read -r program page; do
    [ -n "$program" ] || continue
    n=$((n + 1))
    if ! "$builddir/$program" >"$work/rows"; then
        echo "not ok $n - $program runs"
        continue
    fi
    LC_ALL=C sort "$work/rows" >"$work/want"
    page_items "$srcdir/$page" >"$work/got"
    difference=$(check "$work/got" "$work/want")
    if [ -s "$work/want" ] && [ -z "$difference" ]; then
        echo "ok $n - $page has the $(wc -l <"$work/want") items of its tables"
    else
        echo "not ok $n - $page has the items of its tables"
        printf '%s\n' "$difference" | sed 's/^/# /'
    fi
    n=$((n + 1))
    if ! command -v mandoc >/dev/null; then
        echo "ok $n - $page is clean mdoc # SKIP mandoc is not installed"
    elif message=$(mandoc -Tlint -Wwarning "$srcdir/$page" 2>&1); then
        echo "ok $n - $page is clean mdoc"
    else
        echo "not ok $n - $page is clean mdoc"
        printf '%s\n' "$message" | sed 's/^/# /'
    fi
done <<END
$pages
END
echo "1..$n"
