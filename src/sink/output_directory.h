// SPDX-License-Identifier: Apache-2.0
// A directory for outputs that is opened once. Who exchanges it afterwards, or puts links below it, changes nothing of where files go.
//
//   const auto directory = TRY(OutputDirectory::open("results", rights));
//   TRY(directory->make_inside("pages", rights));
//   rights.below = directory;                          // from here on paths begin there
//   OutputFile::create("pages/1.html", rights);
//
// Threads: any.
#pragma once
#include <memory>
#include <string>

#include "sink/output_file.h"

namespace cicada::sink {

class OutputDirectory {
 public:
  // Makes it, the owner's. One that is there is taken if it belongs to root or to the owner, and nobody else can replace what is in it. The
  // name itself may be a link of theirs.
  static Result<std::shared_ptr<const OutputDirectory>> open(const std::string& path, const FileRights& rights);

  const std::string& path() const { return path_; }  // as it was given
  bool contains(const std::string& name) const;
  // The same for one directory below it, whose name is no link.
  Result<void> make_inside(const std::string& name, const FileRights& rights) const;
  // If it is empty.
  void remove_inside(const std::string& name) const;
  // A handle (O_PATH). Fails: a link on the way, no directory.
  Result<UniqueFd> open_inside(const std::string& directory) const;

 private:
  OutputDirectory(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  std::string path_;
  UniqueFd fd_;
};

}  // namespace cicada::sink
