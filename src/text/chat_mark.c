/* Marks found in a text as it comes: see chat_mark.h. */
#include "config.h"
#include "src/text/chat_mark.h"

#include <stdbool.h>
#include <string.h>

void chat_mark_set(struct chat_mark *mark, const char *text)
{
    *mark = (struct chat_mark){.text = text, .n = text ? (uint8_t)strlen(text) : 0};
}

void chat_mark_reset(struct chat_mark *marks)
{
    for (int i = 0; i < CHAT_MARK_N; i++)
        marks[i].matched = 0;
}

/* Marks are short: the longest of their beginnings that the text ends with is simply looked for. */
static bool advance(struct chat_mark *m, char byte)
{
    size_t k = m->matched;
    while (k > 0 && !(m->text[k] == byte && memcmp(m->text, m->text + m->matched - k, k) == 0))
        k--;
    m->matched = (uint8_t)(m->text[k] == byte ? k + 1 : 0);
    return m->matched == m->n;
}

int chat_mark_push(struct chat_mark *marks, unsigned mask, char byte, size_t *ret_longest)
{
    int found = CHAT_MARK_NONE;
    *ret_longest = 0;
    for (int i = 0; i < CHAT_MARK_N && found < 0; i++) {
        struct chat_mark *m = &marks[i];
        if (!(mask >> i & 1) || !m->text)
            continue;
        if (advance(m, byte))
            found = i;
        if (m->matched > *ret_longest)
            *ret_longest = m->matched;
    }
    if (found >= 0)
        chat_mark_reset(marks);
    return found;
}
