// SPDX-License-Identifier: Apache-2.0
// The work on a large image in parts, one a processor: libLLVM's 700,000 rows are what somebody waits for.
#pragma once
#include <cstddef>
#include <functional>

namespace cicada::unwind {

// How many parts of `items_per_part` at least are worth it; 1 to 4.
size_t count_parts(size_t items, size_t items_per_part);

// run(0) … run(count - 1), all but the first by threads of their own (by this one, where there can be no thread). Returns when all
// are done; what one of them throws is thrown here.
void run_parts(size_t count, const std::function<void(size_t)>& run);

}  // namespace cicada::unwind
