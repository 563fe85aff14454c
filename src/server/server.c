/* The server's life: see server.h. */
#include "config.h"
#include "src/server/server.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "src/base/clock.h"
#include "src/base/log.h"
#include "src/engine/engine.h"
#include "src/server/activate.h"
#include "src/server/reply.h"
#include "src/server/server_parts.h"

enum {
    NOTICES_A_TURN = 256,             /* connections want their turn too */
    MAX_USER_BYTES = 256 << 20,       /* four frames of the largest kind */
    WATCHDOG_SHARE = 3,               /* signs of life in the time that the manager allows for one */
    LOAD_EXTENSION_US = 60 * 1000000, /* each step of the load asks for so much more time */
};

static const struct timeval flush_limit = {.tv_sec = 5}; /* for clients to read their last frames */
static const struct timeval status_delay = {.tv_usec = 500000};
static const struct timeval at_once = {0};

const char *server_state(const struct server *server)
{
    if (server->phase != SERVER_SERVING)
        return "draining";
    return engine_model(server->engine) ? "ready" : "loading";
}

void server_end_turn(struct server *server)
{
    if (!evtimer_pending(server->end_of_turn, NULL))
        evtimer_add(server->end_of_turn, &at_once);
}

void server_changed(struct server *server)
{
    if (server->activate->notify_fd >= 0 && !evtimer_pending(server->status, NULL))
        evtimer_add(server->status, &status_delay);
}

void server_fail(struct server *server, int r)
{
    if (server->result == 0)
        server->result = r;
    event_base_loopbreak(server->base);
}

/* The end. */

static const char ending[] = "the server is about to end";

/* Requests that the engine works on end with an error. */
static void abandon_tickets(struct server *server, bool running_too, enum proto_error error,
                            const char *message)
{
    struct ticket *t = TAILQ_FIRST(&server->tickets.all), *next;
    for (; t; t = next) {
        /* Abandoning one may close its connection, and with it take others away: then from the start. */
        next = TAILQ_NEXT(t, in_order);
        if (!running_too && t->runs)
            continue;
        struct peer *peer = t->peer;
        reply_abandon(t, error, message);
        if (peer_is_closed(peer))
            next = TAILQ_FIRST(&server->tickets.all);
    }
}

/* Nothing is left to do, or not worth waiting for? */
static void end_if_drained(struct server *server)
{
    struct peer *peer, *next;
    if (server->phase == SERVER_SERVING)
        return;
    for (peer = TAILQ_FIRST(&server->peers); peer; peer = next) {
        next = TAILQ_NEXT(peer, entry);
        if (TAILQ_EMPTY(&peer->tickets))
            peer_finish(peer);
    }
    if (TAILQ_EMPTY(&server->peers))
        event_base_loopbreak(server->base);
}

/* Running jobs have had their time. */
static void begin_flush(struct server *server)
{
    server->phase = SERVER_FLUSHING;
    abandon_tickets(server, true, PROTO_E_DRAINING, ending);
    evtimer_add(server->drain_limit, &flush_limit);
    server_end_turn(server);
}

static void on_drain_limit(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    (void)fd;
    (void)what;
    if (server->phase == SERVER_DRAINING)
        begin_flush(server);
    else
        event_base_loopbreak(server->base);
}

/* Requests that are here already get their answer. */
static void pump_all(struct server *server)
{
    struct peer *peer, *next;
    for (peer = TAILQ_FIRST(&server->peers); peer; peer = next) {
        next = TAILQ_NEXT(peer, entry);
        peer_pump(peer);
    }
}

static void begin_drain(struct server *server)
{
    const struct timeval limit = {.tv_sec = server->options.drain_seconds};
    activate_notify(server->activate, "STOPPING=1\nSTATUS=draining");
    log_info("asked to end: running jobs have %d s", server->options.drain_seconds);
    server->phase = SERVER_DRAINING;
    listener_stop(server);
    pump_all(server);
    abandon_tickets(server, false, PROTO_E_DRAINING, ending);
    evtimer_add(server->drain_limit, &limit);
    server_end_turn(server);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
    struct server *server = arg;
    (void)number;
    (void)what;
    if (server->phase == SERVER_SERVING) {
        begin_drain(server);
        return;
    }
    log_info("asked to end again: at once");
    abandon_tickets(server, true, PROTO_E_DRAINING, ending);
    pump_all(server);
    event_base_loopbreak(server->base);
}

/* The engine. */

static void on_ready(struct server *server)
{
    const struct model_info *info = engine_model(server->engine);
    activate_notify(server->activate, "READY=1\nSTATUS=ready");
    log_info("model '%s' is loaded after %.3f s: %s, %s, context %d, %s with %d threads, %s",
             server->options.model_id, (double)(clock_us() - server->start_us) / 1e6, info->arch, info->type,
             info->n_ctx, info->level, info->n_thread,
             engine_tokenizer(server->engine) ? "with tokenizer" : "no tokenizer: served by ids");
    server_changed(server);
}

/* The engine cannot go on. Clients, those too that wait to be accepted, are told; then the process ends. */
static void on_failure(struct server *server, const struct engine_status *status)
{
    static const char message[] = "the model cannot be served; the server's log says why";
    if (server->result != 0)
        return;
    const enum proto_error error = status->failure > 0 ? PROTO_E_MODEL_UNUSABLE : PROTO_E_INTERNAL;
    const char *reason = status->failure > 0 ? status->why.text : strerror(-status->failure);
    server->result = status->failure;
    activate_notify(server->activate, "STOPPING=1\nSTATUS=%s", reason);
    if (status->failure > 0) /* the program says the other kind at its end */
        log_err("%s", reason);
    server->phase = SERVER_FLUSHING;
    listener_accept_pending(server);
    listener_stop(server);
    struct peer *peer, *next;
    for (peer = TAILQ_FIRST(&server->peers); peer; peer = next) {
        next = TAILQ_NEXT(peer, entry);
        if (TAILQ_EMPTY(&peer->tickets))
            peer_complain(peer, error, message);
    }
    abandon_tickets(server, true, error, message);
    evtimer_add(server->drain_limit, &flush_limit);
    server_end_turn(server);
}

/* The load has come further. */
static void on_load(struct server *server, const struct engine_status *status)
{
    activate_notify(server->activate, "EXTEND_TIMEOUT_USEC=%d\nSTATUS=loading %.0f %% (%s)",
                    LOAD_EXTENSION_US, 100 * status->load_fraction, status->load_phase);
    struct ticket *t = TAILQ_FIRST(&server->tickets.all), *next;
    for (; t; t = next) {
        struct peer *peer = t->peer;
        next = TAILQ_NEXT(t, in_order);
        reply_loading(t, status->load_fraction);
        if (peer_is_closed(peer)) /* and its tickets are gone */
            next = TAILQ_FIRST(&server->tickets.all);
    }
}

static void on_engine_news(struct server *server, bool may_be_loaded)
{
    struct engine_status status;
    engine_status(server->engine, &status);
    if (status.state == ENGINE_FAILED)
        on_failure(server, &status);
    else if (status.state == ENGINE_LOADING)
        on_load(server, &status);
    else if (may_be_loaded)
        on_ready(server);
}

static void on_notice(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    struct notice *n;
    (void)fd;
    (void)what;
    for (int i = 0; i < NOTICES_A_TURN && (n = engine_notice(server->engine)); i++) {
        struct ticket *ticket = n->job ? ticket_find(&server->tickets, n->job) : NULL;
        if (n->kind == NOTICE_LOADED || n->kind == NOTICE_LOADING)
            on_engine_news(server, n->kind == NOTICE_LOADED);
        else if (ticket)
            reply_notice(ticket, n);
        notice_free(n);
    }
}

/* The loop. */

static void free_dead(struct server *server)
{
    for (struct peer *peer; (peer = TAILQ_FIRST(&server->dead));) {
        TAILQ_REMOVE(&server->dead, peer, entry);
        peer_free(peer);
        listener_resume(server);
    }
}

static void on_end_of_turn(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    (void)fd;
    (void)what;
    /* Whoever asks for another turn meanwhile gets it in the next round. */
    struct peer *peer;
    size_t n = 0;
    TAILQ_FOREACH(peer, &server->turn, in_turn)
    {
        n++;
    }
    for (; n > 0 && (peer = TAILQ_FIRST(&server->turn)); n--) {
        TAILQ_REMOVE(&server->turn, peer, in_turn);
        peer->has_turn = false;
        peer_pump(peer);
    }
    if (!TAILQ_EMPTY(&server->turn))
        server_end_turn(server);
    end_if_drained(server);
    free_dead(server);
}

static void on_watchdog(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    struct engine_status status;
    (void)fd;
    (void)what;
    engine_status(server->engine, &status);
    if (status.idle_us < server->activate->watchdog_us)
        activate_notify(server->activate, "WATCHDOG=1");
    else
        log_err("the engine has made no progress for %.1f s", (double)status.idle_us / 1e6);
}

static void on_status(evutil_socket_t fd, short what, void *arg)
{
    struct server *server = arg;
    struct engine_status s;
    (void)fd;
    (void)what;
    engine_status(server->engine, &s);
    if (server->phase == SERVER_SERVING && s.state == ENGINE_READY)
        activate_notify(server->activate, "STATUS=%d running, %d waiting, %d connections", s.n_running,
                        s.n_waiting, server->n_peer);
}

/* What libevent has to say goes where everything else goes. */
static void on_libevent_log(int severity, const char *message)
{
    if (severity >= EVENT_LOG_WARN)
        log_warn("libevent: %s", message);
}

static int open_base(struct server *server)
{
    struct event_config *config = event_config_new();
    if (!config)
        return -ENOMEM;
    /* Edge-triggered, and with word of a half-close: peer.h needs both. */
    event_config_require_features(config, EV_FEATURE_ET | EV_FEATURE_EARLY_CLOSE);
    event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
    server->base = event_base_new_with_config(config);
    event_config_free(config);
    if (!server->base)
        return -ENOSYS;
    server->on_term = evsignal_new(server->base, SIGTERM, on_signal, server);
    server->on_int = evsignal_new(server->base, SIGINT, on_signal, server);
    server->end_of_turn = evtimer_new(server->base, on_end_of_turn, server);
    server->drain_limit = evtimer_new(server->base, on_drain_limit, server);
    server->watchdog = event_new(server->base, -1, EV_PERSIST, on_watchdog, server);
    server->status = evtimer_new(server->base, on_status, server);
    if (!server->on_term || !server->on_int || !server->end_of_turn || !server->drain_limit ||
        !server->watchdog || !server->status)
        return -ENOMEM;
    return evsignal_add(server->on_term, NULL) < 0 || evsignal_add(server->on_int, NULL) < 0 ? -ENOMEM : 0;
}

static int listen_everywhere(struct server *server, struct why *why)
{
    int r = 0;
    for (int i = 0; r == 0 && i < server->activate->n_socket; i++)
        r = listener_inherit(server, ACTIVATE_FIRST_FD + i);
    if (r == 0 && server->options.listen)
        r = listener_bind(server, server->options.listen, why);
    if (r == 0 && LIST_EMPTY(&server->listeners))
        return why_set(why, EX_USAGE, "nowhere to listen: give --listen PATH, or start it by a socket unit");
    return r;
}

int server_new(struct server **ret_server, const struct server_options *options,
               const struct activate *activate, struct why *why)
{
    struct server *server = calloc(1, sizeof *server);
    if (!server)
        return -ENOMEM;
    server->options = *options;
    server->activate = activate;
    server->start_us = clock_us();
    TAILQ_INIT(&server->peers);
    TAILQ_INIT(&server->turn);
    TAILQ_INIT(&server->dead);
    LIST_INIT(&server->listeners);
    ticket_init(&server->tickets);
    quota_init(&server->quotas, &(struct quota_limits){
                                    .max_connection = (options->max_connections + 1) / 2,
                                    .max_job = options->max_user_jobs,
                                    .max_byte = MAX_USER_BYTES,
                                });
    event_set_log_callback(on_libevent_log);
    int r = open_base(server);
    if (r == 0)
        r = listen_everywhere(server, why);
    if (r != 0)
        server = server_free(server);
    *ret_server = server;
    return r;
}

static void free_event(struct event *event)
{
    if (event)
        event_free(event);
}

struct server *server_free(struct server *server)
{
    if (!server)
        return NULL;
    listener_stop(server);
    free_event(server->on_engine);
    free_event(server->on_term);
    free_event(server->on_int);
    free_event(server->end_of_turn);
    free_event(server->drain_limit);
    free_event(server->watchdog);
    free_event(server->status);
    if (server->base)
        event_base_free(server->base);
    free(server);
    return NULL;
}

static int watch(struct server *server)
{
    server->on_engine =
        event_new(server->base, engine_fd(server->engine), EV_READ | EV_PERSIST, on_notice, server);
    if (!server->on_engine || event_add(server->on_engine, NULL) < 0)
        return -ENOMEM;
    int64_t us = server->activate->watchdog_us / WATCHDOG_SHARE;
    const struct timeval period = {.tv_sec = us / 1000000, .tv_usec = us % 1000000};
    return us > 0 && event_add(server->watchdog, &period) < 0 ? -ENOMEM : 0;
}

int server_run(struct server *server, struct engine *engine)
{
    server->engine = engine;
    int r = watch(server);
    if (r == 0 && event_base_dispatch(server->base) < 0)
        r = -EIO;
    for (struct peer *peer; (peer = TAILQ_FIRST(&server->peers));)
        peer_close(peer);
    free_dead(server);
    return server->result != 0 ? server->result : r;
}
