// SPDX-License-Identifier: Apache-2.0
// `golden_profile OUT…` writes one small profile with a known truth, once a format: 70 samples in main;work;inner (inner is
// inlined), 30 in main;wait;sys_read, 10 of them in a second thread. `golden_profile --convert IN OUT` converts.
#include <cstdio>
#include <cstring>

#include "profile/synthetic_profile_for_test.h"
#include "sink/profile_reader.h"
#include "sink/sink_registry.h"

namespace {

using namespace cicada;

profile::Profile make() {
  profile::Profile p;
  p.header.host = "golden";
  p.header.kernel = "6.1.0";
  p.header.architecture = "x86_64";
  p.header.cicada_version = "0";
  p.header.command = {"cicada", "record", "--", "golden"};
  p.header.events[0].period = p.header.events[0].sample_ns = 10000000;
  p.header.events[0].frequency_hz = 100;
  p.header.start_realtime_ns = 1700000000000000000;
  p.header.start_monotonic_ns = 1000000000;
  p.header.duration_ns = 1000000000;
  p.header.cpu_count = 2;
  p.header.events[0].fired = 100;
  p.header.events[0].counts = {{"stored", 100, true}};
  const auto kernel = p.intern_image({p.intern("[kernel]"), {}, profile::ImageKind::kKernel});
  const auto image = p.intern_image({p.intern("/usr/bin/golden"), p.intern("0123456789abcdef0123456789abcdef01234567"), profile::ImageKind::kExecutable});
  const auto file = p.intern("/src/golden.cc");
  const auto frame = [&](uint64_t address, std::initializer_list<const char*> names, bool in_kernel = false) {
    const auto id = p.intern_frame({in_kernel ? profile::FrameKind::kKernel : profile::FrameKind::kNative, in_kernel ? profile::ImageId() : image, 0, address, {}});
    std::vector<profile::Location> locations;
    for (const char* name : names) {
      profile::Location location;
      location.function = p.intern_function({p.intern(name), {}, in_kernel ? kernel : image});
      if (!in_kernel) location.file = file;
      if (!in_kernel) location.line = static_cast<uint32_t>(address & 0xff);
      location.inlined = locations.size() + 1 < names.size();
      location.source = in_kernel ? profile::NameSource::kKernel : profile::NameSource::kDwarf;
      locations.push_back(location);
    }
    p.set_locations(id, locations);
    return id;
  };
  const auto main_frame = frame(0x1010, {"main"});
  const profile::FrameId work[] = {main_frame, frame(0x1120, {"inner", "work"})};
  const profile::FrameId wait[] = {main_frame, frame(0x1230, {"wait"}), frame(0xffffffff81000040, {"sys_read"}, true)};
  const auto working = p.intern_stack({}, work), waiting = p.intern_stack({}, wait);
  const auto process = p.intern_process(4711, 99);
  p.edit_process(process, [&](auto& row) { row.name = p.intern("golden"); });
  const auto leader = p.intern_thread(process, 4711), worker = p.intern_thread(process, 4712);
  p.edit_thread(leader, [&](auto& row) { row.name = p.intern("golden"); });
  p.edit_thread(worker, [&](auto& row) { row.name = p.intern("worker; <b>&\""); });
  for (uint32_t i = 0; i < 100; ++i) {
    p.append_sample({.time_ns = 1000000000 + uint64_t{i} * 10000000, .thread = i % 10 == 9 ? worker : leader,
                     .stack = i % 10 < 7 ? working : waiting, .cpu = static_cast<uint16_t>(i % 2), .end_reason = END_OUTERMOST});
  }
  return p;
}

int report(const Error& error) {
  std::fprintf(stderr, "%s\n", error.message().c_str());
  return 1;
}

int write(const profile::ProfileSnapshot& p, const char* path) {
  const auto out = sink::make_sink(path, {});
  if (!out) return report(out.error());
  const auto done = (*out)->finish(p);
  return done ? 0 : report(done.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--convert") == 0) {
    const auto p = sink::read_profile(argv[2]);
    return p ? write(*p, argv[3]) : report(p.error());
  }
  // --hostile: names that break formats; --empty: nothing at all.
  const bool hostile = argc > 1 && std::strcmp(argv[1], "--hostile") == 0, empty = argc > 1 && std::strcmp(argv[1], "--empty") == 0;
  const profile::Profile p = hostile ? profile::make_synthetic_profile({.samples = 20000, .stacks = 4000, .hostile_names = true}) : empty ? profile::Profile() : make();
  for (int i = hostile || empty ? 2 : 1; i < argc; ++i)
    if (write(p, argv[i]) != 0) return 1;
  return 0;
}
