/* What is inside a value: attributes, elements, slices. */
#pragma once

#include "src/text/jinja_value.h"

/* value.name: the attribute first, then the element; undefined where there is neither. */
struct jinja_value jinja_get_attribute(struct jinja_run *run, struct jinja_value v, struct jinja_value name);
/* value[key]: the other way round. */
struct jinja_value jinja_get_element(struct jinja_run *run, struct jinja_value v, struct jinja_value key);
/* value[start:stop:step], MISSING for what is left out. */
struct jinja_value jinja_get_slice(struct jinja_run *run, struct jinja_value v,
                                   const struct jinja_value bounds[3]);

/* A path of attributes as filters take it: none, a number, or names and numbers with dots between. MISSING
 * for `otherwise`: none. */
struct jinja_value jinja_get_path(struct jinja_run *run, struct jinja_value v, struct jinja_value path,
                                  struct jinja_value otherwise);
