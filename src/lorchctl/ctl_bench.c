/* lorchctl bench: measure prompt and decode speed of the running server.
 *
 * Jobs are made of drawn ids, new ones for each run. Times are the server's own (`timings` of done); the time
 * to the first token is measured here, from sending the request. GB/s is what decoding has to read at least:
 * all weights once a token. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

#include "src/base/clock.h"
#include "src/lorchctl/conn.h"
#include "src/lorchctl/ctl.h"
#include "src/lorchctl/options.h"
#include "src/lorchctl/out.h"
#include "src/lorchctl/show.h"

enum { MAX_LENGTH = 1 << 20, MAX_REPEAT = 100, MAX_LIST = 16 };

struct bench {
    struct conn conn;
    const struct options *options;
    int64_t n_vocab, n_ctx, weight_bytes;
    int64_t next_id;
    uint64_t random;
    long repeat, depth;
    size_t n_result;
};

/* Lengths of prompts or answers to measure. */
struct lengths {
    long n[MAX_LIST];
    size_t count;
};

/* One job's figures. */
struct sample {
    double rate;     /* tokens a second */
    double first_ms; /* until the first token frame; 0: none */
};

static int by_rate(const void *a, const void *b)
{
    double x = ((const struct sample *)a)->rate, y = ((const struct sample *)b)->rate;
    return (x > y) - (x < y);
}

static int by_first(const void *a, const void *b)
{
    double x = ((const struct sample *)a)->first_ms, y = ((const struct sample *)b)->first_ms;
    return (x > y) - (x < y);
}

/* Ids that no earlier prompt had: xorshift64, Marsaglia 2003. */
static int32_t draw_id(struct bench *bench)
{
    bench->random ^= bench->random << 13;
    bench->random ^= bench->random >> 7;
    bench->random ^= bench->random << 17;
    return (int32_t)(bench->random % (uint64_t)bench->n_vocab);
}

static int send_job(struct bench *bench, long n_prompt, long n_answer)
{
    struct buf frame;
    struct msg_out out;
    buf_init(&frame, (size_t)FRAME_MAX_IN + FRAME_HEADER);
    msg_begin(&out, &frame, PROTO_GENERATE, FRAME_MAX_IN);
    msg_put_int(&out, PROTO_GENERATE_ID, ++bench->next_id);
    msg_array(&out, PROTO_GENERATE_TOKENS);
    for (long i = 0; i < n_prompt; i++)
        msg_put_int(&out, PROTO_ELEMENT, draw_id(bench));
    msg_close_part(&out);
    msg_put_int(&out, PROTO_GENERATE_MAX_TOKENS, n_answer);
    msg_put_bool(&out, PROTO_GENERATE_IGNORE_EOS, true);
    msg_put_int(&out, PROTO_GENERATE_TEMPERATURE, 0);
    int r = msg_end(&out) ? EX_OSERR : conn_send(&bench->conn, &frame);
    buf_deinit(&frame);
    return r;
}

static int run_job(struct bench *bench, long n_prompt, long n_answer, struct sample *ret_sample)
{
    int64_t begin = clock_us();
    double first_ms = 0;
    int r = send_job(bench, n_prompt, n_answer);
    while (!r && !(r = conn_reply(&bench->conn))) {
        const struct msg_value *frame = bench->conn.msg.root, *type = msg_get(frame, "type");
        const struct msg_value *timings = msg_get(frame, "timings");
        if (msg_is(type, "token") && first_ms == 0)
            first_ms = (double)(clock_us() - begin) / 1e3;
        if (!msg_is(type, "done"))
            continue;
        double ms = msg_float(msg_get(timings, n_answer ? "predicted_ms" : "prompt_ms"), 0);
        /* The first token of an answer comes out of the prompt's last step. */
        double n = n_answer ? (double)n_answer - 1 : (double)n_prompt;
        *ret_sample = (struct sample){.rate = ms > 0 ? n * 1e3 / ms : 0, .first_ms = first_ms};
        break;
    }
    return r;
}

static void print_result(struct bench *bench, const char *test, long n, struct sample *samples)
{
    size_t count = (size_t)bench->repeat;
    qsort(samples, count, sizeof *samples, by_first);
    double first = samples[count / 2].first_ms;
    qsort(samples, count, sizeof *samples, by_rate);
    double median = samples[count / 2].rate, least = samples[0].rate, most = samples[count - 1].rate;
    bool decode = *test == 'd';
    if (options_has(bench->options, CTL_OPTION_JSON_BENCH)) {
        printf("%s{\"test\": \"%s\", \"n\": %ld, \"depth\": %ld, \"tokens_per_second\": ",
               bench->n_result ? ", " : "", test, n, decode ? bench->depth : 0);
        out_json_double(stdout, median);
        fputs(", \"min\": ", stdout);
        out_json_double(stdout, least);
        fputs(", \"max\": ", stdout);
        out_json_double(stdout, most);
        if (decode) {
            fputs(", \"first_token_ms\": ", stdout);
            out_json_double(stdout, first);
        }
        putchar('}');
    } else if (decode) {
        printf("| %s %ld after %ld | %.1f | %.1f - %.1f | %.1f | %.1f |\n", test, n, bench->depth, median,
               least, most, median * (double)bench->weight_bytes / 1e9, first);
    } else {
        printf("| %s %ld | %.1f | %.1f - %.1f | | |\n", test, n, median, least, most);
    }
    fflush(stdout);
    bench->n_result++;
}

/* Measures prompts (decode false) or answers of one length. */
static int measure(struct bench *bench, bool decode, long n)
{
    struct sample samples[MAX_REPEAT];
    long n_prompt = decode ? bench->depth : n, n_answer = decode ? n : 0;
    if (n_prompt + n_answer > bench->n_ctx || n_prompt >= bench->n_ctx) {
        fprintf(stderr, "lorchctl: %ld tokens do not fit into the context of %" PRId64 "\n",
                n_prompt + n_answer, bench->n_ctx);
        return EX_DATAERR;
    }
    for (long i = 0; i < bench->repeat; i++) {
        int r = run_job(bench, n_prompt, n_answer, &samples[i]);
        if (r)
            return r;
    }
    print_result(bench, decode ? "decode" : "prompt", n, samples);
    return 0;
}

static int measure_list(struct bench *bench, bool decode, const struct lengths *list)
{
    int r = 0;
    for (size_t i = 0; i < list->count && !r; i++)
        r = list->n[i] ? measure(bench, decode, list->n[i]) : 0;
    return r;
}

/* Reads "128,512"; "0" measures none. */
static bool read_list(const struct options *options, enum ctl_option option, bool decode,
                      const char *fallback, struct lengths *ret)
{
    const char *p = options->values[option];
    p = p ? p : fallback;
    for (ret->count = 0; ret->count < MAX_LIST; p++) {
        char *end;
        long n = strtol(p, &end, 10);
        if (end == p || n < 0 || n > MAX_LENGTH || (*end && *end != ',') || (decode && n == 1)) {
            fprintf(stderr, "lorchctl: --%s takes numbers of tokens separated by commas%s, not '%s'\n",
                    ctl_options[option].name, decode ? ", 2 or more" : "", p);
            return false;
        }
        ret->n[ret->count++] = n;
        p = end;
        if (!*p)
            return true;
    }
    fprintf(stderr, "lorchctl: --%s takes %d lengths at most\n", ctl_options[option].name, MAX_LIST);
    return false;
}

static void print_head(struct bench *bench)
{
    const struct msg_value *props = bench->conn.msg.root, *model = msg_get(props, "model");
    size_t n_id, n_arch, n_type, n_level, n_device;
    const char *id = msg_bytes(msg_get(model, "id"), &n_id),
               *arch = msg_bytes(msg_get(model, "arch"), &n_arch);
    const char *type = msg_bytes(msg_get(model, "weight_type"), &n_type);
    const char *level = msg_bytes(msg_get(props, "level"), &n_level),
               *device = msg_bytes(msg_get(props, "device"), &n_device);
    if (options_has(bench->options, CTL_OPTION_JSON_BENCH)) {
        printf("{\"format\": %d, \"model\": ", OUT_FORMAT);
        out_json_value(stdout, model);
        fputs(", \"level\": ", stdout);
        out_json_value(stdout, msg_get(props, "level"));
        fputs(", \"threads\": ", stdout);
        out_json_value(stdout, msg_get(props, "threads"));
        printf(", \"weight_bytes\": %" PRId64 ", \"results\": [", bench->weight_bytes);
        return;
    }
    printf("%.*s: %.*s, %.*s, %.1f M weights, %.1f MB; %.*s (%.*s), %" PRId64 " threads\n\n", (int)n_id,
           id ? id : "", (int)n_arch, arch ? arch : "", (int)n_type, type ? type : "",
           (double)msg_int(msg_get(model, "n_params"), 0) / 1e6, (double)bench->weight_bytes / 1e6,
           (int)n_device, device ? device : "", (int)n_level, level ? level : "",
           msg_int(msg_get(props, "threads"), 0));
    puts("| test | tokens/s, median | range | GB/s | first token, ms |\n| --- | --- | --- | --- | --- |");
}

int ctl_bench(struct options *options)
{
    struct bench bench = {
        .options = options, .repeat = 3, .depth = 1, .random = UINT64_C(0x9e3779b97f4a7c15)};
    struct lengths prompts, answers;
    int r = show_no_arguments(options);
    if (r)
        return r;
    if (!options_int(options, CTL_OPTION_BENCH_REPEAT, 1, MAX_REPEAT, &bench.repeat) ||
        !options_int(options, CTL_OPTION_BENCH_DEPTH, 1, MAX_LENGTH, &bench.depth) ||
        !read_list(options, CTL_OPTION_BENCH_PROMPT, false, "512", &prompts) ||
        !read_list(options, CTL_OPTION_BENCH_GENERATE, true, "128", &answers))
        return EX_USAGE;
    r = conn_open(&bench.conn, options->values[CTL_OPTION_SOCKET]);
    if (r)
        return r;
    r = conn_ask(&bench.conn, PROTO_PROPS);
    if (!r) {
        const struct msg_value *props = bench.conn.msg.root;
        bench.n_vocab = msg_int(msg_get(msg_get(props, "model"), "n_vocab"), 1);
        bench.n_ctx = msg_int(msg_get(msg_get(props, "limits"), "n_ctx"), 0);
        bench.weight_bytes = msg_int(msg_get(msg_get(props, "memory"), "weight_bytes"), 0);
        print_head(&bench);
        r = measure_list(&bench, false, &prompts);
        if (!r)
            r = measure_list(&bench, true, &answers);
        if (options_has(options, CTL_OPTION_JSON_BENCH))
            puts("]}");
    }
    conn_close(&bench.conn);
    return r;
}
