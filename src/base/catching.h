// SPDX-License-Identifier: Apache-2.0
// Turns what libraries throw (no memory, a broken invariant of a library) into an Error. We throw nothing ourselves; this stands
// where one failure must not take other people's data with it: around each sink, around naming, around the loop.
#pragma once
#include <exception>
#include <new>
#include <string_view>

#include "base/result.h"

namespace cicada {

// What `run` returns, which is a Result; `what` names the attempt and its object.
template <typename Run>
auto catching(std::string_view what, Run run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    return make_error(ErrorKind::kLimit, "{}: out of memory", what);
  } catch (const std::exception& thrown) {
    return make_error(ErrorKind::kIo, "{}: {}", what, thrown.what());
  }
}

}  // namespace cicada
