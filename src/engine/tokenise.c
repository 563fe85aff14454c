/* The helper threads: see tokenise.h. */
#include "config.h"
#include "src/engine/tokenise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/buf.h"
#include "src/base/utf8.h"
#include "src/engine/check.h"
#include "src/engine/conversation.h"
#include "src/engine/notice.h"
#include "src/text/detok.h"

enum {
    TOKENISE_FRAME_BASE = 1024, /* bytes of a result frame but for its array or text */
    TOKENISE_FRAME_INT = 5,     /* bytes of an id, or of the head of a byte string */
};

/* An allocation failed over what the client sent: the job fails, not the process. */
static int refuse_memory(const struct job_ask *ask, struct notice **ret_refusal)
{
    *ret_refusal = notice_new_failed(ask->job, "internal", NULL, -1, -1, "out of memory");
    return *ret_refusal ? CHECK_E_REFUSED : -ENOMEM;
}

/* Replaces what is no UTF-8. */
static int mend_text(struct job_ask *ask)
{
    struct buf mended = BUF_NULL;
    if (!ask->replace_invalid || utf8_check(ask->text, ask->n_text) == ask->n_text)
        return 0;
    if (utf8_replace(&mended, ask->text, ask->n_text) != 0) {
        buf_deinit(&mended);
        return -ENOMEM;
    }
    free(ask->text);
    ask->text = (char *)mended.data;
    ask->n_text = mended.n;
    return 0;
}

/* Turns the ask's text into its tokens. 0, CHECK_E_REFUSED, -ENOMEM. */
static int encode_text(const struct served *served, struct job_ask *ask, struct notice **ret_refusal)
{
    int r = check_text(served, ask, ret_refusal);
    if (r != 0)
        return r;
    if (mend_text(ask) != 0)
        return refuse_memory(ask, ret_refusal);

    struct token_list ids = {0};
    unsigned flags =
        (ask->add_special ? TOKENIZER_ADD_SPECIAL : 0) | (ask->parse_special ? TOKENIZER_PARSE_SPECIAL : 0);
    r = tokenizer_encode(served->tokenizer, ask->text, ask->n_text, flags, &ids, NULL);
    if (r != 0) {
        token_list_deinit(&ids);
        return refuse_memory(ask, ret_refusal); /* the text is valid UTF-8, nothing else can go wrong */
    }
    ask->tokens = ids.data; /* consumed */
    ask->n_token = ids.n;
    return 0;
}

/* The same of its conversation. */
static int encode_conversation(const struct served *served, struct job_ask *ask, struct notice **ret_refusal)
{
    struct conversation *c = ask->conversation;
    int r = conversation_render(served, c, ask->job, ret_refusal);
    if (r == -ENOMEM)
        return refuse_memory(ask, ret_refusal);
    if (r == 0)
        r = check_length(served, ask, c->text.n, ret_refusal);
    if (r != 0)
        return r;
    struct token_list ids = {0};
    unsigned flags = ask->add_special ? TOKENIZER_ADD_SPECIAL : 0;
    if (tokenizer_encode_marked(served->tokenizer, served->control, &c->text, flags, &ids, NULL) != 0) {
        token_list_deinit(&ids);
        return refuse_memory(ask, ret_refusal); /* as above */
    }
    ask->tokens = ids.data; /* consumed */
    ask->n_token = ids.n;
    ask->is_chat = true;
    ask->has_tools = c->tools.kind == JINJA_LIST;
    ask->in_reasoning = chat_format_opens(&served->chat_format, c->text.text, c->text.n);
    return 0;
}

static int encode(const struct served *served, struct job_ask *ask, struct notice **ret_refusal)
{
    return ask->conversation ? encode_conversation(served, ask, ret_refusal)
                             : encode_text(served, ask, ret_refusal);
}

static int generate(const struct served *served, struct job_ask *ask, struct notice **ret_refusal)
{
    int r = ask->text || ask->conversation ? encode(served, ask, ret_refusal) : 0;
    if (r == 0)
        r = check_generate(served, ask, ret_refusal);
    ask->conversation = conversation_free(ask->conversation);
    return r;
}

/* The ids of a text as a notice. */
static int tokenize(const struct served *served, struct job_ask *ask, struct notice **ret_notice)
{
    int r = encode(served, ask, ret_notice);
    if (r != 0)
        return r;
    size_t bytes = TOKENISE_FRAME_BASE + ask->n_token * TOKENISE_FRAME_INT, n_byte;
    for (size_t i = 0; ask->with_pieces && i < ask->n_token; i++) {
        tokenizer_bytes(served->tokenizer, ask->tokens[i], &n_byte);
        bytes += TOKENISE_FRAME_INT + n_byte;
    }
    r = check_frame(ask, "content", bytes, ret_notice);
    if (r != 0)
        return r;

    struct notice_room room = {.n_token = ask->n_token, .n_piece = ask->with_pieces ? ask->n_token : 0};
    struct notice *notice = notice_new_room(NOTICE_RESULT, ask->job, &room);
    if (!notice)
        return refuse_memory(ask, ret_notice);
    notice->n_token = ask->n_token;
    if (ask->n_token > 0)
        memcpy(notice->tokens, ask->tokens, ask->n_token * sizeof *notice->tokens);
    for (size_t i = 0; i < room.n_piece; i++) {
        notice->pieces[i].bytes =
            (const uint8_t *)tokenizer_bytes(served->tokenizer, ask->tokens[i], &n_byte);
        notice->pieces[i].n_byte = (uint32_t)n_byte;
    }
    *ret_notice = notice;
    return 0;
}

/* How many ids a text has, as a notice. */
static int count(const struct served *served, struct job_ask *ask, struct notice **ret_notice)
{
    int r = encode(served, ask, ret_notice);
    if (r != 0)
        return r;
    struct notice *notice = notice_new(NOTICE_RESULT, ask->job);
    if (!notice)
        return refuse_memory(ask, ret_notice);
    notice->n_token = ask->n_token;
    *ret_notice = notice;
    return 0;
}

/* The prompt that a conversation becomes, with its ids where they are asked for, as a notice. */
static int apply_template(const struct served *served, struct job_ask *ask, struct notice **ret_notice)
{
    int r = encode(served, ask, ret_notice);
    if (r != 0)
        return r;
    const struct jinja_text *text = &ask->conversation->text;
    size_t n_token = ask->return_tokens ? ask->n_token : 0;
    r = check_frame(ask, "messages", TOKENISE_FRAME_BASE + text->n + n_token * TOKENISE_FRAME_INT,
                    ret_notice);
    if (r != 0)
        return r;
    /* One place more keeps no ids apart from ids that nobody asked for. */
    struct notice_room room = {.n_content = text->n + 1, .n_token = ask->return_tokens ? n_token + 1 : 0};
    struct notice *notice = notice_new_room(NOTICE_RESULT, ask->job, &room);
    if (!notice)
        return refuse_memory(ask, ret_notice);
    if (text->n > 0)
        memcpy(notice->content, text->text, text->n);
    notice->n_content = text->n;
    notice->n_token = n_token;
    if (n_token > 0)
        memcpy(notice->tokens, ask->tokens, n_token * sizeof *notice->tokens);
    *ret_notice = notice;
    return 0;
}

/* Writes what the ids stand for. 0, BUF_E_FULL over the cap of the buffer, -ENOMEM. */
static int decode(const struct served *served, const struct job_ask *ask, struct buf *text)
{
    struct detok d;
    detok_start(&d, served->tokenizer, ask->return_special, NULL, 0);
    for (size_t i = 0; i <= ask->n_token; i++) {
        int r = buf_reserve(text, served->max_out);
        if (r != 0)
            return r;
        char *out = (char *)text->data + text->n;
        text->n += i < ask->n_token ? detok_push(&d, ask->tokens[i], out) : detok_finish(&d, out);
    }
    return 0;
}

/* The text of ids as a notice. */
static int detokenize(const struct served *served, struct job_ask *ask, struct notice **ret_notice)
{
    if (!served->tokenizer) {
        *ret_notice = notice_new_failed(ask->job, "not_supported", NULL, -1, -1,
                                        "the model has no tokenizer: its ids have no text");
        return *ret_notice ? CHECK_E_REFUSED : -ENOMEM;
    }
    int r = check_tokens(served, ask, ret_notice);
    if (r != 0)
        return r;
    struct buf text;
    buf_init(&text, ask->max_frame ? ask->max_frame + served->max_out : 0);
    r = decode(served, ask, &text);
    /* A full buffer holds more than a frame may. */
    if (r == 0 || r == BUF_E_FULL)
        r = check_frame(ask, "tokens", TOKENISE_FRAME_BASE + text.n, ret_notice);
    if (r == 0) {
        struct notice *notice =
            notice_new_room(NOTICE_RESULT, ask->job, &(struct notice_room){.n_content = text.n + 1});
        r = notice ? 0 : -ENOMEM;
        if (notice) {
            memcpy(notice->content, text.data, text.n);
            notice->n_content = text.n;
            *ret_notice = notice;
        }
    }
    buf_deinit(&text);
    return r == -ENOMEM ? refuse_memory(ask, ret_notice) : r;
}

static void answer(void *ctx, struct job_ask *ask)
{
    const struct tokenise *t = ctx;
    struct notice *notice = NULL;
    int r;
    switch (ask->kind) {
    case JOB_TOKENIZE:
        r = tokenize(t->served, ask, &notice);
        break;
    case JOB_DETOKENIZE:
        r = detokenize(t->served, ask, &notice);
        break;
    case JOB_COUNT:
        r = count(t->served, ask, &notice);
        break;
    case JOB_TEMPLATE:
        r = apply_template(t->served, ask, &notice);
        break;
    default:
        r = generate(t->served, ask, &ask->refusal);
        break;
    }
    if (notice) {
        mailbox_push(t->out, &notice->mail);
        job_ask_free(ask);
        return;
    }
    ask->no_memory = r < 0;
    mailbox_push(t->engine, &ask->letter.mail);
}

int tokenise_init(struct tokenise *t, struct mailbox *engine, struct mailbox *out)
{
    *t = (struct tokenise){.engine = engine, .out = out};
    int r = 0;
    for (int i = 0; r == 0 && i < TOKENISE_N_LANE; i++)
        r = lane_init(&t->lane[i]);
    return r;
}

int tokenise_start(struct tokenise *t, const struct served *served)
{
    t->served = served;
    int r = 0;
    for (int i = 0; r == 0 && i < TOKENISE_N_LANE; i++)
        r = lane_start(&t->lane[i], answer, t);
    return r;
}

void tokenise_deinit(struct tokenise *t)
{
    for (int i = 0; i < TOKENISE_N_LANE; i++)
        lane_deinit(&t->lane[i]);
}

void tokenise_push(struct tokenise *t, struct job_ask *ask)
{
    bool is_long = ask->n_text >= TOKENISE_LONG || (!ask->text && ask->n_token >= TOKENISE_LONG) ||
                   (ask->conversation && ask->conversation->n_byte >= TOKENISE_LONG);
    lane_push(&t->lane[is_long], ask);
}

void tokenise_drop(struct tokenise *t, uint64_t job)
{
    for (int i = 0; i < TOKENISE_N_LANE; i++)
        if (lane_drop(&t->lane[i], job))
            return;
}
