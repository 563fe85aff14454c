/* Conversations in files: see chat_talk.h. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "proto/frame.h"
#include "src/base/jsonread.h"
#include "src/lorchctl/chat_talk.h"
#include "src/lorchctl/out.h"

enum { READ_SIZE = 65536 };

static void print_text(FILE *file, const char *key, const struct buf *text)
{
    fprintf(file, ", \"%s\": ", key);
    out_json_string(file, (const char *)text->data, text->n);
}

static void print_talk(FILE *file, const struct chat_talk *talk)
{
    fprintf(file, "{\"format\": %d, \"messages\": [", OUT_FORMAT);
    for (size_t i = 0; i < talk->n; i++) {
        const struct chat_message *m = &talk->messages[i];
        fprintf(file, "%s\n{\"role\": \"%s\"", i ? "," : "", chat_talk_role(m->role));
        print_text(file, "content", &m->content);
        if (m->reasoning.n > 0)
            print_text(file, "reasoning_content", &m->reasoning);
        putc('}', file);
    }
    fputs("\n]}\n", file);
}

int chat_talk_save(const struct chat_talk *talk, const char *path, struct why *why)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return why_set(why, EX_CANTCREAT, "cannot create %s: %s", path, strerror(errno));
    print_talk(file, talk);
    bool failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return why_set(why, EX_IOERR, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

static int expect(struct jsonread *reader, enum jsonread_kind kind, const char *what)
{
    if (reader->kind == kind)
        return 0;
    return jsonread_fail(reader, "%s is %s, not %s", what, jsonread_kind_name(kind),
                         jsonread_kind_name(reader->kind));
}

static int read_role(struct jsonread *reader, enum chat_role *ret)
{
    jsonread_next(reader);
    int r = expect(reader, JSONREAD_STRING, "a message's role");
    for (int i = CHAT_SYSTEM; r == 0 && i <= CHAT_ASSISTANT; i++)
        if (jsonread_is(reader, chat_talk_role((enum chat_role)i))) {
            *ret = (enum chat_role)i;
            return 0;
        }
    return r ? r : jsonread_fail(reader, "a message's role is system, user or assistant");
}

static int read_text(struct jsonread *reader, struct buf *ret)
{
    jsonread_next(reader);
    int r = expect(reader, JSONREAD_STRING, "a message's text");
    if (r != 0)
        return r;
    buf_pop(ret, ret->n);
    return buf_push(ret, reader->string, reader->n_string) == 0
               ? 0
               : jsonread_fail(reader, "the text is longer than the %d bytes that a request may have",
                               FRAME_MAX_IN);
}

/* One message, behind its brace. */
static int read_message(struct jsonread *reader, struct chat_talk *talk)
{
    int role = -1, r = 0;
    struct buf content, reasoning;
    buf_init(&content, FRAME_MAX_IN);
    buf_init(&reasoning, FRAME_MAX_IN);
    while (r == 0 && jsonread_next(reader) == JSONREAD_KEY) {
        enum chat_role known = CHAT_USER;
        if (jsonread_is(reader, "role")) {
            r = read_role(reader, &known);
            role = (int)known;
        } else if (jsonread_is(reader, "content"))
            r = read_text(reader, &content);
        else if (jsonread_is(reader, "reasoning_content"))
            r = read_text(reader, &reasoning);
        else
            r = jsonread_fail(reader, "a message has role, content and reasoning_content, not '%.*s'",
                              (int)reader->n_string, reader->string);
    }
    if (r == 0)
        r = expect(reader, JSONREAD_OBJECT_END, "a message's end");
    if (r == 0 && (role < 0 || (role == CHAT_SYSTEM && talk->n > 0)))
        r = jsonread_fail(reader,
                          role < 0 ? "the message has no role" : "the system speaks first, or not at all");
    struct chat_message *m =
        r == 0 ? chat_talk_add(talk, (enum chat_role)role, (const char *)content.data, content.n) : NULL;
    if (m && buf_push(&m->reasoning, reasoning.data, reasoning.n) != 0)
        m = NULL;
    buf_deinit(&content);
    buf_deinit(&reasoning);
    return r ? r : m ? 0 : -ENOMEM;
}

static int read_messages(struct jsonread *reader, struct chat_talk *talk)
{
    jsonread_next(reader);
    int r = expect(reader, JSONREAD_ARRAY, "\"messages\"");
    while (r == 0 && jsonread_next(reader) == JSONREAD_OBJECT)
        r = read_message(reader, talk);
    return r ? r : expect(reader, JSONREAD_ARRAY_END, "what follows a message");
}

static int read_talk(struct jsonread *reader, struct chat_talk *talk)
{
    bool found = false;
    jsonread_next(reader);
    int r = expect(reader, JSONREAD_OBJECT, "a saved conversation");
    while (r == 0 && jsonread_next(reader) == JSONREAD_KEY) {
        if (jsonread_is(reader, "messages") && !found) {
            found = true;
            r = read_messages(reader, talk);
        } else if (jsonread_is(reader, "format")) {
            jsonread_next(reader);
            if (reader->kind != JSONREAD_INT || reader->integer != OUT_FORMAT)
                r = jsonread_fail(reader, "the format is %d, or another lorchctl wrote this", OUT_FORMAT);
        } else {
            r = jsonread_fail(reader, "a saved conversation has \"format\" and \"messages\", once each");
        }
    }
    if (r == 0)
        r = expect(reader, JSONREAD_OBJECT_END, "what follows");
    if (r == 0)
        jsonread_next(reader);
    if (r == 0)
        r = expect(reader, JSONREAD_END, "what follows");
    return r == 0 && !found ? jsonread_fail(reader, "\"messages\" are missing") : r;
}

/* The whole of a file. */
static int read_file(struct buf *text, const char *path, struct why *why)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return why_set(why, errno == EACCES ? EX_NOPERM : EX_NOINPUT, "cannot open %s: %s", path,
                       strerror(errno));
    size_t n = 1;
    int r = 0;
    while (r == 0 && n > 0) {
        r = buf_reserve(text, READ_SIZE) == 0
                ? 0
                : why_set(why, EX_DATAERR, "%s is longer than the %d bytes that a request may have", path,
                          FRAME_MAX_IN);
        n = r == 0 ? fread(text->data + text->n, 1, READ_SIZE, file) : 0;
        text->n += n;
    }
    if (r == 0 && ferror(file))
        r = why_set(why, EX_IOERR, "cannot read %s: %s", path, strerror(errno));
    fclose(file);
    return r;
}

int chat_talk_load(struct chat_talk *talk, const char *path, struct why *why)
{
    struct buf text;
    struct chat_talk loaded = {0};
    struct why reason = {""};
    buf_init(&text, (size_t)FRAME_MAX_IN + READ_SIZE);
    int r = read_file(&text, path, why);
    if (r == 0) {
        struct jsonread reader;
        jsonread_init(&reader, text.data, text.n, &reason);
        r = read_talk(&reader, &loaded);
        jsonread_deinit(&reader);
        if (r != 0)
            r = why_set(why, r < 0 ? EX_OSERR : r, "%s: %s", path, r < 0 ? "out of memory" : reason.text);
    }
    buf_deinit(&text);
    if (r == 0) {
        chat_talk_deinit(talk);
        *talk = loaded; /* consumed */
    } else {
        chat_talk_deinit(&loaded);
    }
    return r;
}
