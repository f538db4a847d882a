// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>
#include <cstring>

namespace cicada {

Error errno_error(int errno_value, std::string_view what) {
  ErrorKind kind = ErrorKind::kIo;
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO: kind = ErrorKind::kNotFound; break;
    case ESRCH: kind = ErrorKind::kGone; break;
    case EPERM:
    case EACCES: kind = ErrorKind::kPermission; break;
    case EINVAL: kind = ErrorKind::kInvalid; break;
    case ENOSYS:
    case EOPNOTSUPP: kind = ErrorKind::kUnsupported; break;
    case ENOMEM:
    case ENOSPC:
    case EMFILE:
    case ENFILE:
    case E2BIG: kind = ErrorKind::kLimit; break;
    default: break;
  }
  return make_error(kind, "{}: {}", what, std::strerror(errno_value));
}

}  // namespace cicada
