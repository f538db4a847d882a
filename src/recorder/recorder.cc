// SPDX-License-Identifier: Apache-2.0
#include "recorder/recorder.h"

#include <unistd.h>

#include <string_view>

#include "base/caller.h"
#include "base/descriptor_limit.h"
#include "base/process_state.h"
#include "bpf_source/bpf_source.h"
#include "bpf_source/privileges.h"
#include "parser/file_openers.h"
#include "parser/parser.h"
#include "recorder/image_readers.h"
#include "sandbox/zygote.h"

namespace cicada::recorder {
namespace {

constexpr const char* kReaderCommand = "parser-zygote";  // of the program that embeds this, for itself only

}  // namespace

std::optional<int> serve_as_reader(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != kReaderCommand) return std::nullopt;
  return sandbox::run_zygote(&parser::serve, &parser::serve_names);
}

Result<Readers> Readers::start() {
  raise_descriptor_limit();
  return Readers(std::shared_ptr<sandbox::Zygote>(TRY(sandbox::Zygote::start({"/proc/self/exe", kReaderCommand}))));
}

uint64_t Readers::cpu_ns() const { return used_cpu_ns(zygote_->pid()); }

uint32_t recording_user() {
  const auto caller = find_caller();
  return caller ? caller->uid : ::geteuid();
}

Result<std::unique_ptr<engine::Session>> open(const Readers& readers, RecorderConfig config) {
  config.session.for_the_end = std::make_shared<ReservedDescriptors>(kDescriptorsForTheEnd);
  if (config.session.names.user == 0) config.session.names.user = recording_user();
  auto image_reader = read_by_parsers(readers.zygote_, config.session.names);
  if (!config.keep_privileges) bpf_source::keep_needed_privileges();
  auto source = TRY(bpf_source::BpfSource::open(config.sampling, std::move(image_reader), std::move(config.lifecycle)));
  return std::make_unique<engine::Session>(std::move(source), std::move(config.session));
}

Result<bpf_source::ProbeList> list_probes(const Readers& readers, const bpf_source::ProbeQuestion& question) {
  symbolize::SymbolizeOptions names;
  names.user = recording_user();
  return bpf_source::list_probes(question, read_by_parsers(readers.zygote_, names));
}

}  // namespace cicada::recorder
