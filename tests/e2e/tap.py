"""The Test Anything Protocol: a point is a function that runs at once and passes unless it raises.

    @point("two and two are four")
    def _():
        equal(2 + 2, 4)

    done()
"""

import atexit
import sys
import traceback

_count = 0
_failed = 0
_is_done = False
WIDTH = 400  # characters of a value in a message


def report(name, passed, why=""):
    """One line of the protocol; why: lines about a failure."""
    global _count, _failed
    _count += 1
    _failed += not passed
    print("%s %d - %s" % ("ok" if passed else "not ok", _count, name))
    for line in why.splitlines() if not passed else ():
        print("# " + line)
    sys.stdout.flush()
    return passed


def point(name):
    """Runs the decorated function as a test point of this name."""

    def run(function):
        try:
            function()
        except Exception as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
            where = ["%s:%d: %s" % (f.filename.rpartition("/")[2], f.lineno, f.line) for f in frames[-4:]]
            what = "%s: %s" % (type(error).__name__, error)
            report(name, False, "\n".join([what] + where))
        else:
            report(name, True)
        return function

    return run


def skip(name, reason):
    """A point that cannot be tried here."""
    global _count
    _count += 1
    print("ok %d - %s # SKIP %s" % (_count, name, reason))


def _short(value):
    text = repr(value)
    return text if len(text) <= WIDTH else text[:WIDTH] + "... (%d characters)" % len(text)


def check(condition, message):
    if not condition:
        raise AssertionError(message)


def equal(got, want, what=""):
    check(got == want, "%sgot %s, want %s" % (what and what + ": ", _short(got), _short(want)))


def contains(text, part):
    check(part in text, "%s is not in %s" % (_short(part), _short(text)))


def near(got, want, bound, what=""):
    check(abs(got - want) <= bound, "%sgot %r, want %r within %g" % (what and what + ": ", got, want, bound))


def done():
    """The plan, after all points."""
    global _is_done
    _is_done = True
    print("1..%d" % _count)
    sys.exit(1 if _failed else 0)


@atexit.register
def _complain():
    if not _is_done:
        print("Bail out! the script ended before its plan", flush=True)
