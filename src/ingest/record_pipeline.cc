// SPDX-License-Identifier: Apache-2.0
#include "ingest/record_pipeline.h"

#include <utility>

#include "base/monotonic_clock.h"

namespace cicada::ingest {
namespace {

constexpr size_t kMaxJitProcesses = 1 << 16;

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

}  // namespace

RecordPipeline::RecordPipeline(profile::Profile& profile, const Parts& parts)
    : parts_(parts),
      stacks_(profile, parts.images),
      threads_(profile, parts.metadata_reader),
      times_(threads_),
      deferred_(parts.tracker, parts.unwinders, parts.tables, &parts.java),
      assembler_(profile, stacks_, threads_, parts.tracker, [this](UnwindJob job) { return deferred_.submit(std::move(job)); }),
      files_(stacks_, parts.images) {}

void RecordPipeline::take(std::span<const uint8_t> bytes, uint64_t now_ns) {
  std::visit(Overloaded{[&](const Malformed&) { ++malformed_; },
                        [&](const sample_record& sample) { route(sample, now_ns); },
                        [&](const StackRecord& stack) { stacks_.add(*stack.head, stack.frames); },
                        [&](const UnwindRequest& request) { malformed_ += assembler_.add(request) ? 0 : 1; },
                        [&](const lifecycle_record& event) {
                          ++lifecycle_;
                          parts_.tracker.push(event);
                        },
                        [&](const thread_time& time) { times_.take(time, now_ns); },
                        [&](const TextRecord& text) { assembler_.add(text); }},
             decode_record(bytes));
}

void RecordPipeline::route(const sample_record& sample, uint64_t now_ns) {
  sampled_processes_.insert(sample.pid);
  if (sample.address_space != 0 && sampled_spaces_.insert(sample.address_space).second) stacks_.note_sampled(sample.address_space, sample.uid);
  // At once, not when it is stored: its process may end meanwhile.
  note_jit_code(sample);
  if (sample.end_reason == END_NO_TABLE) {
    if (const uint32_t image = stacks_.outermost_image(sample.user_stack)) parts_.tables.request_again(image);
  }
  assembler_.add(sample, now_ns);
}

void RecordPipeline::note_jit_code(const sample_record& sample) {
  if (!stacks_.has_generated_code(sample.address_space) || jit_processes_.size() >= kMaxJitProcesses) return;
  const JitProcess process{sample.pid, sample.start_ticks_low, sample.address_space};
  if (jit_processes_.insert(process).second) new_jit_processes_.push_back(process);
}

void RecordPipeline::end_batch(uint64_t looked_ns, bool emptied) {
  if (emptied) {
    parts_.tracker.note_drained(looked_ns, std::vector<Pid>(sampled_processes_.begin(), sampled_processes_.end()));
    sampled_processes_.clear();
    assembler_.give_up_requests(looked_ns);
  }
  for (const FinishedWalk& walk : deferred_.take()) {
    assembler_.add(walk);
    note_jit_code(walk.sample);
  }
  assembler_.flush_ready(monotonic_ns());
  parts_.jit.note_sampled(std::exchange(new_jit_processes_, {}));
}

void RecordPipeline::end_cycle() {
  parts_.tracker.note_sampled(std::vector<uint32_t>(sampled_spaces_.begin(), sampled_spaces_.end()));
  sampled_spaces_.clear();
  refresh_threads();
  times_.settle(monotonic_ns());
}

void RecordPipeline::refresh_threads() {
  threads_.refresh(parts_.tracker.table(), parts_.tracker.names(), parts_.metadata, parts_.tracker.watermark_ns());
}

// Samples that wait come first: they bring their threads along.
void RecordPipeline::rebase(profile::RowCopier& ids) {
  assembler_.rebase(ids);
  stacks_.rebase(ids);
  threads_.rebase(ids);
}

void RecordPipeline::finish() {
  deferred_.finish();
  end_batch(0, false);
  assembler_.flush();
  parts_.jit.finish();
  parts_.metadata_reader.sync();
  refresh_threads();
}

}  // namespace cicada::ingest
