// SPDX-License-Identifier: Apache-2.0
// Work that falls into independent pieces of unequal size: threads take the next piece when they are done with theirs.
#pragma once
#include <cstddef>
#include <functional>

namespace cicada {

// One a CPU, at most 4: what work beside a recording may take of a large machine.
unsigned few_threads();

// Calls run(i) for every i below `count`, on this thread and up to `threads` - 1 others (0: few_threads(); fewer where no thread can be
// had). Returns when all are done; the first thing that one of them throws is thrown here.
void for_each_parallel(size_t count, unsigned threads, const std::function<void(size_t)>& run);

// How many parts of `items_per_part` at least are worth a thread each; 1 to `threads`.
size_t count_parts(size_t items, size_t items_per_part, unsigned threads = 0);

}  // namespace cicada
