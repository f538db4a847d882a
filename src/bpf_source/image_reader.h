// SPDX-License-Identifier: Apache-2.0
// What a recording wants to know of the files that its targets map: a port, so that who reads them is a choice. Each from an open descriptor; ends soon after `stop` is
// requested. Threads: any.
#pragma once
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/unique_fd.h"
#include "elf/usdt_notes.h"
#include "ingest/image_unwinders.h"
#include "symbolize/dwarf/parameters.h"
#include "symbolize/symbols/function_code.h"
#include "symbolize/symbols/function_search.h"

namespace cicada::bpf_source {

class ImageReader : public ingest::ImageUnwinders::Reader {
 public:
  // A file by its path, as that root directory (null: ours) has it. Fails: kNotFound, kInvalid (not a regular file), kIo (no answer from where it is), the system's error.
  virtual Result<UniqueFd> open_file(const std::string& path, std::shared_ptr<const UniqueFd> root, const std::stop_token& stop) = 0;
  // Which functions match, `limit` at most. Debug files are looked for in our own root only: a container's would say where code is broken into that others run, too.
  virtual Result<symbolize::FunctionSearch> find_functions(const process::ImageInfo& image, int fd, std::span<const std::string> patterns, size_t limit, const std::stop_token& stop) = 0;
  // What debug information has about the parameters of functions that begin there, of each in order. Debug files as above.
  virtual Result<std::vector<symbolize::FunctionParameters>> find_parameters(const process::ImageInfo& image, int fd, std::span<const LinkAddr> functions,
                                                                             const std::stop_token& stop) = 0;
  // Which USDT probes match, `limit` at most.
  virtual Result<elf::UsdtSearch> find_usdt(const process::ImageInfo& image, int fd, std::span<const std::string> patterns, size_t limit, const std::stop_token& stop) = 0;
  // Whether an instruction begins `offset` bytes behind the begin of a function. Fails: kInvalid (none does), what reading it says.
  virtual Result<void> check_instruction(const process::ImageInfo& image, int fd, FileOffset function, uint64_t offset, const std::stop_token& stop) = 0;
  // Where functions return, of each in order.
  virtual Result<std::vector<symbolize::FunctionReturns>> find_returns(const process::ImageInfo& image, int fd, std::span<const symbolize::FunctionCode> functions,
                                                                       const std::stop_token& stop) = 0;
};

}  // namespace cicada::bpf_source
