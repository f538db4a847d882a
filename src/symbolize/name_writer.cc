// SPDX-License-Identifier: Apache-2.0
#include "symbolize/name_writer.h"

#include <algorithm>

namespace cicada::symbolize {

using profile::NameSource;
using profile::Profile;

namespace {

constexpr size_t kFramesAtATime = 256;  // between two looks at what their names take

}  // namespace

NameWriter::NameWriter(NamedAddresses names, std::vector<profile::FrameId> frames, profile::ImageId image, bool of_kernel, uint32_t owner)
    : names_(std::move(names)), frames_(std::move(frames)), image_(image), of_kernel_(of_kernel), owner_(owner), functions_(names_.functions.size()),
      files_(names_.text_ends.size()), places_(names_.positions.size()) {}

profile::FunctionId NameWriter::function(Profile& profile, uint32_t index) {
  profile::FunctionId& known = functions_[index];
  if (known.valid()) return known;
  const NamedAddresses::Function& from = names_.functions[index];
  profile::ImageId image = image_;
  if (of_kernel_) {
    const std::string_view module = names_.text(from.module);
    profile::Image kernel;
    kernel.kind = module.empty() ? profile::ImageKind::kKernel : module == "bpf" ? profile::ImageKind::kBpf : profile::ImageKind::kKernelModule;
    kernel.path = profile.intern(module.empty() ? "[kernel]" : module == "bpf" ? "[bpf]" : module);
    image = profile.intern_image(kernel);
  }
  const profile::StringId name = profile.intern(names_.text(from.shown));
  return known = profile.intern_function({name, from.linkage == 0 ? profile::StringId() : profile.intern(names_.text(from.linkage)), image});
}

profile::PlaceId NameWriter::place(Profile& profile, NamedAddresses::PositionId id) {
  chain_.clear();
  for (; id.valid() && !places_[id.value].valid(); id = names_.positions[id.value].outer) chain_.push_back(id);
  profile::PlaceId place = id.valid() ? places_[id.value] : profile::PlaceId();
  const bool vdso = image_.valid() && profile.images()[image_.value].kind == profile::ImageKind::kVdso;
  for (size_t i = chain_.size(); i-- > 0;) {
    const NamedAddresses::Position& from = names_.positions[chain_[i].value];
    profile::StringId& file = files_[from.file];
    if (from.file != 0 && !file.valid()) file = profile.intern(names_.text(from.file));
    place = places_[chain_[i].value] = profile.intern_place(place, {function(profile, from.function), file, from.line, from.inlined != 0, vdso ? NameSource::kVdso : from.source});
  }
  return place;
}

bool NameWriter::write(Profile& profile, size_t most) {
  for (const size_t end = next_ + std::min(most, frames_.size() - next_); next_ < end;) {
    if (profile.is_full(owner_)) next_ = frames_.size();
    const Profile::Charge charge(profile, owner_);
    for (const size_t stop = std::min(end, next_ + kFramesAtATime); next_ < stop; ++next_) {
      const NamedAddresses::PositionId innermost = names_.innermost[next_];
      if (!innermost.valid() || !frames_[next_].valid()) continue;
      profile.set_place(frames_[next_], place(profile, innermost));
      if (names_.positions_of(next_).back().source != NameSource::kFunctionBegin) ++named_;
    }
  }
  return next_ < frames_.size();
}

void NameWriter::rebase(profile::RowCopier& ids) {
  for (profile::FrameId& frame : frames_) frame = ids.find(frame).value_or(profile::FrameId());
  image_ = ids.image(image_);
  std::fill(functions_.begin(), functions_.end(), profile::FunctionId());
  std::fill(files_.begin(), files_.end(), profile::StringId());
  std::fill(places_.begin(), places_.end(), profile::PlaceId());
}

}  // namespace cicada::symbolize
