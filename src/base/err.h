/* How failures travel: one int, and a sentence for what came from outside.
 *
 *   0          done
 *   positive   a documented outcome of that one function; its direct caller handles it
 *   negative   -errno: this process is not to be trusted any more; forwarded unchanged up to main
 *
 * Functions that read something from outside (a file, a frame, an option) take a last argument
 * `struct why *why`, may be NULL, and write one sentence with names and both numbers into it on failure,
 * never on success. Those that read model files return <sysexits.h> values as their positive codes, so that
 * the program can exit with them: EX_DATAERR malformed, EX_NOINPUT missing, EX_NOPERM not allowed, EX_IOERR
 * cannot be read, EX_CONFIG does not fit this machine or build. */
#pragma once

struct why {
    char text[512];
};

/* Writes the sentence (cut at the buffer's size at a character's border, always terminated, control
 * characters and what is no UTF-8 made visible) and returns code, so that a failure is one line: return
 * why_set(why, EX_DATAERR, "tensor '%s' ...", name). No argument may be why->text itself. */
int why_set(struct why *why, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "prefix: " before the sentence, for a caller that knows the file it was about. Returns code. */
int why_prefix(struct why *why, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The sentence and the code for a system call on this path that failed with this errno: EX_NOINPUT where
 * there is no such file, EX_NOPERM, -errno where this process has run out of memory or descriptors, else
 * EX_IOERR. */
int why_errno(struct why *why, int error, const char *path);

/* Replaces control characters and bytes that are no UTF-8 by '?', in place. Returns s. */
char *why_make_visible(char *s);
