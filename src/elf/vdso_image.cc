// SPDX-License-Identifier: Apache-2.0
// AT_SYSINFO_EHDR gives the beginning; the size follows from the section header table, which the kernel's vDSO keeps and which
// ends the image.
#include "elf/vdso_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace cicada::elf {

namespace {

Result<UniqueFd> copy_vdso() {
  const auto* base = reinterpret_cast<const char*>(::getauxval(AT_SYSINFO_EHDR));
  if (base == nullptr) return make_error(ErrorKind::kNotFound, "[vdso]: this process has none");
  Elf64_Ehdr header;
  std::memcpy(&header, base, sizeof header);
  const size_t size = header.e_shoff + size_t{header.e_shentsize} * header.e_shnum;
  UniqueFd fd(::memfd_create("vdso", MFD_CLOEXEC));
  if (!fd || ::write(fd.get(), base, size) != static_cast<ssize_t>(size)) return errno_error(errno, "memfd for the vDSO");
  return fd;
}

}  // namespace

Result<UniqueFd> open_vdso() {
  static const Result<UniqueFd> kCopy = copy_vdso();
  if (!kCopy) return kCopy.error();
  UniqueFd fd(::fcntl(kCopy->get(), F_DUPFD_CLOEXEC, 3));
  if (!fd) return errno_error(errno, "the vDSO");
  return fd;
}

}  // namespace cicada::elf
