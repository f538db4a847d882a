// SPDX-License-Identifier: Apache-2.0
#include "parser/owner_companions.h"

namespace cicada::parser {
namespace {

using symbolize::CompanionFiles;
using symbolize::DebuginfodClient;
using symbolize::FileRoot;

class OwnersCompanions final : public CompanionFiles {
 public:
  OwnersCompanions(Ownership whose, std::shared_ptr<FileOpeners> openers, FileRoot root, std::shared_ptr<DebuginfodClient> debuginfod,
                   const std::stop_token& stop)
      : whose_(whose),
        openers_(std::move(openers)),
        root_(std::move(root)),
        stop_(stop),
        servers_(symbolize::companions_in({}, std::move(debuginfod), stop)) {}

  Result<File> open(Place place, const std::string& name) override {
    if (place == Place::kServer) return servers_->open(place, name);
    if (place == Place::kHost && root_.is_ours()) return make_error(ErrorKind::kNotFound, "{}: looked for already", name);
    FileOpeners::File file = TRY(openers_->open(place == Place::kImage ? root_ : FileRoot(), name, whose_.owner, stop_));
    if (file.by_user && (file.owner == whose_.owner || file.owner == 0 || file.owner == whose_.recorder))
      return File{std::move(file.fd), std::move(file.path)};
    return make_error(ErrorKind::kPermission, "{}: of user {}, who does not say what files of user {} are called", name, file.owner,
                      whose_.owner);
  }

 private:
  const Ownership whose_;
  const std::shared_ptr<FileOpeners> openers_;
  const FileRoot root_;
  const std::stop_token stop_;
  const std::shared_ptr<CompanionFiles> servers_;
};

}  // namespace

std::shared_ptr<CompanionFiles> companions_of(Ownership whose, std::shared_ptr<FileOpeners> openers, FileRoot root,
                                              std::shared_ptr<DebuginfodClient> debuginfod, const std::stop_token& stop) {
  return std::make_shared<OwnersCompanions>(whose, std::move(openers), std::move(root), std::move(debuginfod), stop);
}

}  // namespace cicada::parser
