/* A JSON object becomes a map: see tree.h. */
#include "config.h"
#include "src/lorchctl/tree.h"

#include <string.h>

#include "src/base/jsonread.h"

static bool put_item(struct jsonread *reader, struct msg_out *out, enum proto_field field)
{
    switch (reader->kind) {
    case JSONREAD_OBJECT:
    case JSONREAD_ARRAY:
        if (reader->depth > TREE_MAX_DEPTH)
            return false;
        (reader->kind == JSONREAD_OBJECT ? msg_map : msg_array)(out, field);
        return true;
    case JSONREAD_OBJECT_END:
    case JSONREAD_ARRAY_END:
        msg_close_part(out);
        return true;
    case JSONREAD_KEY:
        if (reader->n_string == 0 || reader->n_string > PROTO_MAX_KEY)
            return false;
        msg_key(out, reader->string, reader->n_string);
        return true;
    case JSONREAD_STRING:
        msg_put_text(out, field, reader->string, reader->n_string);
        return true;
    case JSONREAD_INT:
        msg_put_int(out, field, reader->integer);
        return true;
    case JSONREAD_FLOAT:
        msg_put_double(out, field, reader->real);
        return true;
    case JSONREAD_TRUE:
    case JSONREAD_FALSE:
        msg_put_bool(out, field, reader->kind == JSONREAD_TRUE);
        return true;
    case JSONREAD_NULL:
        msg_put_nil(out, field);
        return true;
    default:
        return false;
    }
}

bool tree_write(struct msg_out *out, enum proto_field field, const char *text)
{
    struct jsonread reader;
    jsonread_init(&reader, text, strlen(text), NULL);
    bool ok = jsonread_next(&reader) == JSONREAD_OBJECT && put_item(&reader, out, field);
    while (ok && jsonread_next(&reader) != JSONREAD_END)
        ok = put_item(&reader, out, PROTO_ELEMENT);
    jsonread_deinit(&reader);
    return ok;
}
