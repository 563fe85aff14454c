/* lorchd: reads the command line, opens the engine, runs the server, stops in reverse. */
#include "config.h"

#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/cleanup.h"
#include "src/base/log.h"
#include "src/base/mapfile.h"
#include "src/engine/engine.h"
#include "src/lorchd/check.h"
#include "src/lorchd/cpus.h"
#include "src/lorchd/devices.h"
#include "src/lorchd/options.h"
#include "src/server/activate.h"
#include "src/server/server.h"

enum { MAX_ROW = 512 }; /* rows of a step: more make prefill no faster, but scratch memory larger */

/* What a failure means for whoever started this process. */
static int exit_status(int r, const struct why *why)
{
    if (r > 0 && *why->text)
        log_err("%s", why->text);
    if (r < 0)
        log_err("%s", strerror(-r));
    return r < 0 ? EX_OSERR : r;
}

static const char *choose_model(const struct options *options)
{
    const char *model = options->text[OPTION_MODEL];
    if (!model)
        model = getenv("LORCH_MODEL");
    if (model && *model)
        return model;
    log_info("no model is named: serving the demo model (--model DIR serves another)");
    return LORCH_DATADIR "/demo-model";
}

static struct model_options model_options(const struct options *options)
{
    return (struct model_options){
        .path = choose_model(options),
        .device = options->text[OPTION_DEVICE],
        .level = options->text[OPTION_CPU_LEVEL],
        .n_thread =
            options->given[OPTION_THREADS] ? (int32_t)options->number[OPTION_THREADS] : cpus_available(""),
        .n_ctx = (int32_t)options->number[OPTION_CONTEXT],
        .max_row = MAX_ROW,
        .verify = options->given[OPTION_VERIFY],
        .trace_dir = options->text[OPTION_TRACE_TENSORS],
    };
}

static struct server_options server_options(const struct options *options, const char *model_id)
{
    return (struct server_options){
        .listen = options->text[OPTION_LISTEN],
        .model_id = model_id,
        .max_queue = (int32_t)options->number[OPTION_MAX_QUEUE],
        .max_user_jobs = (int32_t)options->number[OPTION_MAX_USER_JOBS],
        .max_connections = (int32_t)options->number[OPTION_MAX_CONNECTIONS],
        .max_output = (int32_t)options->number[OPTION_MAX_OUTPUT],
        .drain_seconds = (int32_t)options->number[OPTION_DRAIN_SECONDS],
    };
}

/* The server first: clients may connect while the model loads, and hear of it if it cannot be. */
static int serve(const struct options *options, const struct model_options *model, const char *model_id,
                 const struct activate *activate, struct why *why)
{
    const struct server_options for_server = server_options(options, model_id);
    const struct engine_options for_engine = {.model = *model, .max_queue = for_server.max_queue};
    struct server *server = NULL;
    struct engine *engine = NULL;
    int r = server_new(&server, &for_server, activate, why);
    if (r == 0)
        r = engine_start(&engine, &for_engine);
    if (r == 0)
        r = server_run(server, engine);
    engine_free(engine);
    server_free(server);
    return r;
}

int main(int argc, char **argv)
{
    struct options options;
    struct activate activate = ACTIVATE_NULL;
    struct why why = {""};
    enum log_level level;
    int r = options_parse(&options, argc, argv);
    if (r >= 0)
        return fflush(stdout) == 0 ? r : EX_IOERR;
    log_init();
    if (!log_level_from_name(options.text[OPTION_LOG_LEVEL], &level)) {
        log_err("--log-level takes err, warn, info or debug, not '%s'", options.text[OPTION_LOG_LEVEL]);
        return EX_USAGE;
    }
    log_set_level(level);
    if (options.given[OPTION_JSON] && !options.given[OPTION_LIST_DEVICES]) {
        log_err("--json goes with --list-devices");
        return EX_USAGE;
    }
    if (options.given[OPTION_LIST_DEVICES]) {
        devices_print(stdout, options.given[OPTION_JSON]);
        return fflush(stdout) == 0 ? 0 : EX_IOERR;
    }
    signal(SIGPIPE, SIG_IGN);
    mapfile_guard_install();

    const struct model_options model = model_options(&options);
    CLEANUP_FREE char *path = strdup(model.path);
    if (!path)
        return EX_OSERR;
    const char *model_id = basename(path);
    if (options.given[OPTION_CHECK]) {
        r = check_model(&model, model_id, &why);
        if (fflush(stdout) != 0 && r == 0)
            r = EX_IOERR;
        return exit_status(r, &why);
    }
    r = activate_init(&activate, &why);
    if (r == 0)
        r = serve(&options, &model, model_id, &activate, &why);
    activate_deinit(&activate);
    return exit_status(r, &why);
}
