// SPDX-License-Identifier: Apache-2.0
// walk/ finishes in user space a walk that the kernel could not: a mapping or a table it did not have yet, a rule that does not fit
// a row.
//
// The same step as in the kernel (abi/unwind_step.h); where a rule does not fit, all of DWARF. Code without any CFI (JIT, musl,
// hand-written assembly) continues by frame pointer, and back by rows where there are rows again.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "abi/end_reason.h"
#include "abi/frame.h"
#include "abi/records.h"
#include "abi/settings.h"
#include "unwind/walk/image_unwinder.h"

namespace cicada::unwind {

// What the walk needs to know of the process at the time of the sample. Implemented by ingest/ and by tests.
class AddressSpaceView {
 public:
  struct Mapping {
    Range<RuntimeAddr> range;
    uint64_t bias = 0;   // link address = runtime address - bias
    uint32_t image = 0;  // 0 for MAPPING_JIT
    uint32_t flags = 0;  // enum mapping_flags
  };
  virtual ~AddressSpaceView() = default;
  virtual std::optional<Mapping> find_mapping(RuntimeAddr address) = 0;
  virtual const ImageUnwinder* find_image(uint32_t image) = 0;  // null: not (yet) known. Valid during the walk
  // Whether the image's code is read, so that this walk is done again, instead of ending here. False: it goes on by frame pointer.
  virtual bool waits_for_code(uint32_t, LinkAddr) { return false; }
  // Eight bytes of JIT code from the process's memory, the first of them lowest. Nothing: they cannot be read (any more).
  virtual std::optional<uint64_t> read_code(RuntimeAddr) { return std::nullopt; }
  // How to go on from this address of JIT code, as its run time says, into `rule`. END_NO_RULE: it does not say. Else why it is not known: the frame pointer of such
  // code is anything.
  virtual end_reason find_rule_of_code(RuntimeAddr, unwind_rule&) { return END_NO_RULE; }
};

// The state to go on from, as in unwind_request.
struct StackCopy {
  uint64_t gpr[ARCH_REGISTERS] = {};  // DWARF numbering
  uint64_t ip = 0;
  bool exact_ip = false;       // ip is the leaf's, or directly above a signal frame: not a return address
  bool all_registers = false;  // caller-saved registers are valid, too
  bool is_32_bit = false;      // walked by frame pointer
  bool new_task = false;       // in clone, before its first instruction: where no caller is found, there is none
  bool new_stack = false;      // with it: there is none
  uint32_t mode = UNWIND_AUTO;  // enum unwind_mode
  // Which pages are in the copy, as in unwind_request; the default: the copy has no holes.
  uint64_t pages = ~uint64_t{0};
  Bytes stack;                 // from gpr[ARCH_SP] up, or
  uint64_t below = 0;          // from so many bytes below it
};

struct DeferredStack {
  std::vector<uint64_t> frames;  // abi/frame.h, leaf first; frames[0] is the frame of the given registers themselves
  end_reason end = END_NONE;     // END_DEFERRED when complete; else why not, END_DEFERRED_FAILED if no step could be done
};

// One walk. Borrows the bytes of the copy, and the view.
class DeferredWalk {
 public:
  DeferredWalk(const StackCopy& from, AddressSpaceView& view, size_t max_frames = MAX_USER_FRAMES);
  DeferredWalk(DeferredWalk&&) noexcept;
  ~DeferredWalk();

  // A step that an image must say.
  struct Asked {
    const ImageUnwinder* image;
    StepQuestion question;
  };
  // Goes on until it is over (nothing), or to the next such step, whose answer it then wants.
  std::optional<Asked> advance();
  void answer(const ImageStep& step);
  // Of one that is over, or never will be: then it ends at the frame where it asked.
  DeferredStack take();

 private:
  class Walk;
  std::unique_ptr<Walk> walk_;
};

// Brings walks up stacks of processes of one user to their ends. What they ask an image at the same time is one question. `goes_on` is
// asked before each; once it says no, those that are not over stay as they are.
void finish_walks(
    std::span<DeferredWalk> walks, uint32_t owner, const std::function<bool()>& goes_on = [] { return true; });
DeferredStack finish_walk(const StackCopy& from, AddressSpaceView& view, size_t max_frames = MAX_USER_FRAMES);

}  // namespace cicada::unwind
