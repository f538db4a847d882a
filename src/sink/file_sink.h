// SPDX-License-Identifier: Apache-2.0
// A sink that writes one file when the recording is over: everything but the format itself.
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "sink/sink_registry.h"

namespace cicada::sink {

class FileSink : public profile::Sink {
 public:
  FileSink(std::string path, const SinkOptions& options, std::string_view what) : options_(options), path_(std::move(path)), what_(what) {}

  Result<void> finish(const profile::ProfileSnapshot& profile) final {
    OutputFile file = TRY(OutputFile::create(path_, options_.rights));
    write(profile, file);
    return file.commit();
  }

  std::string description() const final {
    return path_ == "-" ? fmt::format("{} on standard output", what_) : fmt::format("{} in {}", what_, path_);
  }

 protected:
  // Errors of `file` stick to it.
  virtual void write(const profile::ProfileSnapshot& profile, OutputFile& file) = 0;

  std::string title(const profile::ProfileSnapshot& profile) const {
    if (!options_.title.empty()) return options_.title;
    const std::vector<std::string>& command = profile.header.command;
    const auto options_end = std::find(command.begin(), command.end(), "--");  // what was profiled follows
    std::string words;
    for (auto word = options_end == command.end() ? command.begin() : options_end + 1; word != command.end(); ++word)
      words += (words.empty() ? "" : " ") + *word;
    return words.empty() ? "cicada" : words;
  }

  const SinkOptions options_;

 private:
  std::string path_;
  std::string_view what_;
};

}  // namespace cicada::sink
