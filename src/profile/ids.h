// SPDX-License-Identifier: Apache-2.0
// Typed indices into the tables of one Profile.
#pragma once
#include "base/tagged_id.h"

namespace cicada::profile {

using StringId = TaggedId<struct StringTag>;
using ImageId = TaggedId<struct ImageTag>;
using FunctionId = TaggedId<struct FunctionTag>;
using FrameId = TaggedId<struct FrameTag>;
using PlaceId = TaggedId<struct PlaceTag>;      // kNone: no name (yet)
using StackId = TaggedId<struct StackTag>;      // kNone: the empty stack
using ProcessId = TaggedId<struct ProcessTag>;
using ThreadId = TaggedId<struct ThreadTag>;
using LabelSetId = TaggedId<struct LabelSetTag>;  // kNone: no labels
using SampleIndex = uint32_t;

}  // namespace cicada::profile
