/* Bytes of standard input: see chat_input.h. */
#include "config.h"
#include "src/lorchctl/chat_input.h"

#include <errno.h>
#include <unistd.h>

#include "src/lorchctl/conn.h"

enum { READ_SIZE = 4096 };

void chat_input_init(struct chat_input *input)
{
    buf_init(&input->bytes, READ_SIZE);
    input->at = 0;
}

void chat_input_deinit(struct chat_input *input)
{
    buf_deinit(&input->bytes);
}

static int refill(struct chat_input *input)
{
    buf_pop(&input->bytes, input->bytes.n);
    input->at = 0;
    int r = conn_wait(STDIN_FILENO);
    if (r != 0)
        return r == CONN_INTERRUPTED ? CHAT_INPUT_INTERRUPTED
               : r == CONN_SIGNALLED ? CHAT_INPUT_SIGNALLED
                                     : CHAT_INPUT_END;
    if (buf_reserve(&input->bytes, READ_SIZE) != 0)
        return CHAT_INPUT_END;
    ssize_t n = read(STDIN_FILENO, input->bytes.data, READ_SIZE);
    if (n <= 0)
        return n < 0 && errno == EINTR ? CHAT_INPUT_SIGNALLED : CHAT_INPUT_END;
    input->bytes.n = (size_t)n;
    return 0;
}

int chat_input_byte(struct chat_input *input, char *ret)
{
    int r = input->at == input->bytes.n ? refill(input) : 0;
    if (r == 0)
        *ret = (char)input->bytes.data[input->at++];
    return r;
}
