// SPDX-License-Identifier: Apache-2.0
// A broken promise of our own: prints where and what, then aborts. Never used on input from outside.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                        \
  do {                                                                                          \
    if (!(condition)) [[unlikely]] {                                                            \
      std::fprintf(stderr, "%s:%d: internal error: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                             \
    }                                                                                           \
  } while (false)
