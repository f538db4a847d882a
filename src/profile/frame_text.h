// SPDX-License-Identifier: Apache-2.0
// What people read for a frame, a process, a thread: one place, so that every output says the same.
#pragma once
#include <string>

#include "profile/call_tree.h"

namespace cicada::profile {

// "libfoo.so.1" of "/usr/lib/libfoo.so.1"; the whole text if it is not a path.
std::string_view file_name(std::string_view path);

// How one location of a frame is drawn. `place`: one of the frame's, kNone for a frame without.
NodeKind node_kind(const ProfileSnapshot& profile, FrameId frame, PlaceId place);

// The image a location belongs to: its function's, else the frame's. May be kNone.
ImageId image_of(const ProfileSnapshot& profile, FrameId frame, PlaceId place);

std::string process_text(const ProfileSnapshot& profile, ProcessId id);  // "make (4711)"
std::string thread_name(const ProfileSnapshot& profile, ThreadId id);  // "worker", "worker of make": those of one name are one
std::string thread_text(const ProfileSnapshot& profile, ThreadId id);    // "worker (4712)", "make (4711, main)"
// The root frame that `by` puts above a sample. Image: the one the sample was taken in (its innermost frame with an image).
std::string group_text(const ProfileSnapshot& profile, GroupBy by, const Sample& sample);

}  // namespace cicada::profile
