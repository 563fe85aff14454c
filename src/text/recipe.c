/* How text is cut into words for vocabularies that only name a rule: see recipe.h.
 *
 * Each rule is written as the pre-tokenizer of the tokenizer.json of the model that it comes from, and read
 * by the same reader. Sources: those files, and the patterns in llama.cpp's llama-vocab.cpp. */
#include "config.h"
#include "src/text/recipe.h"

#include <string.h>
#include <sysexits.h>

#include "src/text/tokenizer_parts.h"

#define SPLIT(regex) \
    "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"" regex "\"},\"behavior\":\"Isolated\",\"invert\":false}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":false}"
#define WORDS "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"
#define DIGITS "{\"type\":\"Digits\",\"individual_digits\":true}"
#define SEQUENCE(list) "{\"type\":\"Sequence\",\"pretokenizers\":[" list "]}"

#define SPACES "\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define SUFFIX "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define CASED(suffix)                                                                \
    "[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*"  \
    "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]+" suffix                                  \
    "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{Lu}\\\\p{Lt}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]+" \
    "[\\\\p{Ll}\\\\p{Lm}\\\\p{Lo}\\\\p{M}]*" suffix
#define OTHERS " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*"
#define OTHERS_SLASH " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n/]*"
#define QWEN2_WORDS SUFFIX "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}|" OTHERS "|" SPACES

enum shape {
    DEFAULT,
    GPT2,
    GPT2_NFC,
    DIGIT_GPT2,
    FALCON,
    LLAMA3,
    QWEN2,
    QWEN2_NFC,
    QWEN35,
    TEKKEN,
    GPT4O,
    DEEPSEEK_LLM,
    DEEPSEEK_CODER,
    DEEPSEEK_V3,
};

static const char nfc[] = "{\"type\":\"NFC\"}";

static const struct shape_row {
    const char *pretok, *normalizer; /* normalizer NULL: none */
} shapes[] = {
    [DEFAULT] = {SEQUENCE(SPLIT("[\\\\p{P}\\\\$\\\\+<=>\\\\^~\\\\|]+") "," WORDS "," SPLIT(
                     "\\\\p{N}+") "," SPLIT("[0-9][0-9][0-9]")),
                 NULL},
    [GPT2] = {WORDS, NULL},
    [GPT2_NFC] = {WORDS, nfc},
    [DIGIT_GPT2] = {SEQUENCE(DIGITS "," WORDS), NULL},
    [FALCON] = {SEQUENCE("{\"type\":\"Punctuation\",\"behavior\":\"Contiguous\"}," WORDS
                         ",{\"type\":\"Digits\",\"individual_digits\":false}," SPLIT("[0-9][0-9][0-9]")),
                NULL},
    [LLAMA3] = {SEQUENCE(SPLIT(SUFFIX "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}|" OTHERS
                                      "|" SPACES) "," BYTES),
                NULL},
    [QWEN2] = {SEQUENCE(SPLIT(QWEN2_WORDS) "," BYTES), NULL},
    [QWEN2_NFC] = {SEQUENCE(SPLIT(QWEN2_WORDS) "," BYTES), nfc},
    [QWEN35] = {SEQUENCE(SPLIT(SUFFIX "|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?[\\\\p{L}\\\\p{M}]+|\\\\p{N}|"
                                      " ?[^\\\\s\\\\p{L}\\\\p{M}\\\\p{N}]+[\\\\r\\\\n]*|" SPACES) "," BYTES),
                nfc},
    [TEKKEN] = {SEQUENCE(SPLIT(CASED("") "|\\\\p{N}|" OTHERS_SLASH "|" SPACES) "," BYTES), NULL},
    [GPT4O] = {SEQUENCE(SPLIT(CASED(SUFFIX "?") "|\\\\p{N}{1,3}|" OTHERS_SLASH "|" SPACES) "," BYTES), NULL},
    [DEEPSEEK_LLM] =
        {SEQUENCE(SPLIT("[\\r\\n]") "," SPLIT(
             "\\\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-"
             "ᲺᲽ-"
             "Ჿᴀ-"
             "ᴫᵫ-ᵷᵹ-ᶚ"
             "Ḁ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\\\\x{1f7d}ᾀ-ᾴᾶ-ᾼ\\\\x{1fbe}ῂ-ῄῆ-ῌῐ-\\\\x{1fd3}ῖ-\\\\x{1fdb}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-"
             "ℓℕℙ-ℝℤ\\\\x{"
             "2126}ℨ\\\\x{212a}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄ"
             "Ⰰ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-"
             "𐲲𐳀-"
             "𐳲𑢠-"
             "𑣟𞤀-𞥃]+") "," SPLIT("\\\\s?[!-/:-~！-／：-～‘-‟　-。]+") "," SPLIT("\\\\s+$") "," SPLIT("[一-龥ࠀ-一가-퟿]+") "," DIGITS
                                                                                                                                          "," BYTES),
         NULL},
    [DEEPSEEK_CODER] = {SEQUENCE(SPLIT("[\\r\\n]") "," SPLIT("\\\\s?\\\\p{L}+") "," SPLIT(
                            "\\\\s?\\\\p{P}+") "," SPLIT("[一-龥ࠀ-一가-퟿]+") "," DIGITS "," BYTES),
                        NULL},
    [DEEPSEEK_V3] = {SEQUENCE(SPLIT("\\\\p{N}{1,3}") "," SPLIT("[一-龥぀-ゟ゠-ヿ]+") "," SPLIT(
                         "[!\\\"#$%&'()*+,\\\\-./:;<=>?@\\\\[\\\\\\\\\\\\]^_`{|}~][A-Za-z]+|"
                         "[^\\r\\n\\\\p{L}\\\\p{P}\\\\p{S}]?[\\\\p{L}\\\\p{M}]+| "
                         "?[\\\\p{P}\\\\p{S}]+[\\r\\n]*|" SPACES) "," BYTES),
                     NULL},
};

struct recipe {
    const char *name;
    enum shape shape;
    bool ignore_merges, adds_bos;
};

static const struct recipe recipes[] = {
#define RECIPE(name, shape, ignore_merges, adds_bos) {name, shape, ignore_merges, adds_bos},
#include "src/text/recipes.def"
#undef RECIPE
};

const struct recipe *recipe_find(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof recipes / sizeof recipes[0]; i++)
        if (n == strlen(recipes[i].name) && memcmp(name, recipes[i].name, n) == 0)
            return &recipes[i];
    return NULL;
}

bool recipe_adds_bos(const struct recipe *recipe)
{
    return recipe->adds_bos;
}

/* A component out of a constant text. */
static int read_part(struct tokenizer *t, const char *json, const struct part **ret, struct why *why)
{
    struct jsonread r;
    jsonread_init(&r, json, strlen(json), why);
    jsonread_next(&r);
    int code = part_read(ret, &r, &t->arena);
    jsonread_deinit(&r);
    return code;
}

int recipe_apply(struct tokenizer *t, const struct recipe *recipe, struct why *why)
{
    const struct shape_row *row = &shapes[recipe->shape];
    const struct part *pretok = NULL, *normalizer = NULL;
    int code = read_part(t, row->pretok, &pretok, why);
    if (code == 0 && row->normalizer)
        code = read_part(t, row->normalizer, &normalizer, why);
    if (code == 0)
        code = pretok_init(&t->pretok, pretok, why);
    if (code == 0)
        code = normalize_init(&t->normalize, normalizer, why);
    t->bpe.ignore_merges = recipe->ignore_merges;
    t->decode.steps[t->decode.n_step++] = (struct decode_step){.kind = DECODE_BYTE_LEVEL};
    return code;
}
