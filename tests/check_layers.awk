# Which folder includes what it must not: reads tests/layers, then C files; prints file:line: sentence.
#
#   awk -f tests/check_layers.awk tests/layers FILE...    (paths from the root of the tree)

function glob(pattern, text) {
    gsub(/[.+]/, "\\\\&", pattern)
    gsub(/\*/, ".*", pattern)
    return text ~ ("^" pattern "$")
}

# The longest folder of the table that holds this path, or "".
function home(path,    f, best) {
    best = ""
    for (f in folders)
        if (index(path, f "/") == 1 && length(f) > length(best))
            best = f
    return best
}

# May `path`, in `folder`, include the header `name` of another project?
function library_allowed(folder, path, name,    n, i, parts, at) {
    n = split(libraries[folder], parts, " ")
    for (i = 1; i <= n; i++) {
        at = index(parts[i], "@")
        if (!at && glob(parts[i], name))
            return 1
        if (at && glob(substr(parts[i], 1, at - 1), name) && glob(substr(parts[i], at + 1), path))
            return 1
    }
    return 0
}

# Libraries named anywhere in the table have homes; other <...> headers are the system's.
function is_library(name,    f, n, i, parts, p) {
    for (f in libraries) {
        n = split(libraries[f], parts, " ")
        for (i = 1; i <= n; i++) {
            p = parts[i]
            sub(/@.*/, "", p)
            if (p != "*" && glob(p, name))
                return 1
        }
    }
    return 0
}

FILENAME == ARGV[1] {
    if (/^#/ || !NF)
        next
    colon = index($0, ":")
    bar = index($0, "|")
    folder = substr($0, 1, colon - 1)
    folders[folder] = substr($0, colon + 1, bar - colon - 1) " " folder
    libraries[folder] = substr($0, bar + 1)
    next
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    name = quoted[2]
    folder = home(FILENAME)
    if (folder == "" || name == "config.h")
        next
    target = home(name)
    if (target == "") {
        print FILENAME ":" FNR ": \"" name "\" is not a path from the root of the tree"
        next
    }
    if ((" " folders[folder] " ") !~ (" (" target "|\\*) "))
        print FILENAME ":" FNR ": " folder " may not include " target " (\"" name "\")"
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    name = $0
    sub(/^[^<]*</, "", name)
    sub(/>.*/, "", name)
    folder = home(FILENAME)
    if (folder != "" && is_library(name) && !library_allowed(folder, FILENAME, name))
        print FILENAME ":" FNR ": <" name "> has its home elsewhere (tests/layers)"
}
