// SPDX-License-Identifier: Apache-2.0
// make_pages DIRECTORY [NODES]: the pages the browser tests open, from a made-up recording of a small machine (the same each
// time). With NODES: one report, big.html, of that many nodes and samples and 200 threads, for the benchmark.
#include <cstdio>
#include <cstdlib>
#include <random>

#include "sink/flamegraph/html.h"
#include "sink/flamegraph/svg.h"
#include "sink/profile_reader.h"
#include "sink/sink_registry.h"

namespace {

using namespace cicada;
using namespace cicada::profile;

struct Recording {
  Profile profile;
  std::mt19937 random{20};

  FrameId frame(FrameKind kind, ImageId image, std::string_view name, std::string_view inlined = {}) {
    Frame f;
    f.kind = kind;
    f.image = image;
    f.address = std::hash<std::string_view>{}(name) >> 8;
    const FrameId id = profile.intern_frame(f);
    std::vector<Location> locations;
    const auto add = [&](std::string_view text, bool is_inlined) {
      Function function;
      function.name = profile.intern(text);
      function.image = image;
      Location location;
      location.function = profile.intern_function(function);
      location.inlined = is_inlined;
      location.file = profile.intern("/src/demo/" + std::string(text.substr(0, 6)) + ".cc");
      location.line = 1 + static_cast<uint32_t>(f.address % 400);
      locations.push_back(location);
    };
    if (!inlined.empty()) add(inlined, true);
    add(name, false);
    profile.set_locations(id, locations);
    return id;
  }
  ImageId image(std::string_view path, ImageKind kind) {
    Image made;
    made.path = profile.intern(path);
    made.kind = kind;
    return profile.intern_image(made);
  }
  ThreadId thread(Pid pid, std::string_view process, Tid tid, std::string_view name, std::string_view cmdline) {
    const ProcessId id = profile.intern_process(pid, static_cast<uint64_t>(pid));
    profile.edit_process(id, [&](auto& row) { row.name = profile.intern(process); });
    profile.edit_process(id, [&](auto& row) { row.cmdline = profile.intern(cmdline); });
    const ThreadId made = profile.intern_thread(id, tid);
    profile.edit_thread(made, [&](auto& row) { row.name = profile.intern(name); });
    profile.edit_thread(made, [&](auto& row) { row.main = pid == tid; });
    return made;
  }
  void sample(ThreadId thread, std::span<const FrameId> frames, uint64_t time_ns) {
    Sample made;
    made.time_ns = time_ns;
    made.thread = thread;
    made.stack = profile.intern_stack(StackId(), frames);
    made.cpu = static_cast<uint16_t>(random() % 2);
    made.end_reason = END_OUTERMOST;  // ended at an undefined return address
    profile.append_sample(made);
  }
};

Recording demo() {
  Recording r;
  Header& header = r.profile.header;
  header.host = "lovage";
  header.command = {"cicada", "record", "-a", "-d", "10"};
  header.events[0].frequency_hz = 997;
  header.duration_ns = 10'000'000'000;
  header.start_monotonic_ns = 1'000'000'000;
  header.target_cpu_ns = 12'180'000'000;
  const ImageId app = r.image("/usr/bin/orderbook", ImageKind::kExecutable), libc = r.image("/usr/lib/x86_64-linux-gnu/libc.so.6", ImageKind::kLibrary),
                cpp = r.image("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", ImageKind::kLibrary), kernel = r.image("[kernel]", ImageKind::kKernel),
                node = r.image("[jit]", ImageKind::kJit);
  const ThreadId main = r.thread(4711, "orderbook", 4711, "orderbook", "/usr/bin/orderbook --port 9000"),
                 matcher = r.thread(4711, "orderbook", 4712, "matcher", ""), feed = r.thread(4711, "orderbook", 4713, "feed-reader", ""),
                 js = r.thread(5020, "node", 5020, "node", "node dashboard.js");
  const auto native = [&](std::string_view name, std::string_view inlined = {}) { return r.frame(FrameKind::kNative, app, name, inlined); };
  const FrameId start = native("_start"), libc_main = r.frame(FrameKind::kNative, libc, "__libc_start_main_impl"), app_main = native("main"),
                thread_start = r.frame(FrameKind::kNative, libc, "start_thread"), run = native("exchange::Matcher::run(std::stop_token)"),
                match = native("exchange::Matcher::match(Order const&)", "exchange::PriceLevel::best() const"),
                book = native("std::map<Price, PriceLevel>::find(Price const&)", "operator<(Price const&, Price const&)"),
                hash = r.frame(FrameKind::kNative, cpp, "std::_Hash_bytes(void const*, unsigned long, unsigned long)"),
                parse = native("feed::Parser::parse(std::span<std::byte const>)"), decimal = native("feed::decimal(char const*, char const*)", "is_digit(char)"),
                memcpy = r.frame(FrameKind::kNative, libc, "__memmove_avx_unaligned_erms"), read = r.frame(FrameKind::kNative, libc, "__libc_read"),
                entry = r.frame(FrameKind::kKernel, kernel, "entry_SYSCALL_64_after_hwframe"), syscall = r.frame(FrameKind::kKernel, kernel, "do_syscall_64"),
                vfs = r.frame(FrameKind::kKernel, kernel, "vfs_read"), tcp = r.frame(FrameKind::kKernel, kernel, "tcp_recvmsg"),
                copy = r.frame(FrameKind::kKernel, kernel, "copy_user_generic"), report = native("stats::report()"),
                format = native("fmt::v9::detail::vformat_to<char>(buffer<char>&, string_view)"), render = r.frame(FrameKind::kJit, node, "render (dashboard.js:42)"),
                loop = r.frame(FrameKind::kJit, node, "processTicks (node:internal/process/task_queues:77)"), sort = r.frame(FrameKind::kJit, node, "sortRows (table.js:118)");
  Frame mark;
  mark.kind = FrameKind::kLabel;
  mark.label = r.profile.intern("[softirq: net_rx]");
  const FrameId softirq = r.profile.intern_frame(mark);
  const std::vector<std::pair<ThreadId, std::vector<FrameId>>> stacks = {
      {matcher, {thread_start, run, match, book}}, {matcher, {thread_start, run, match}}, {matcher, {thread_start, run, match, book, hash}},
      {matcher, {thread_start, run, match, memcpy}}, {feed, {thread_start, parse, decimal}}, {feed, {thread_start, parse}},
      {feed, {thread_start, read, entry, syscall, vfs, tcp, copy}}, {feed, {thread_start, read, entry, syscall, vfs, tcp}},
      {feed, {thread_start, parse, softirq, tcp}}, {main, {start, libc_main, app_main, report, format}}, {main, {start, libc_main, app_main, report}},
      {js, {loop, render, sort}}, {js, {loop, render}}};
  const unsigned weights[] = {30, 12, 9, 7, 14, 6, 9, 4, 2, 6, 2, 9, 4};
  std::discrete_distribution<size_t> choose(std::begin(weights), std::end(weights));
  for (uint64_t i = 0; i < 12'000; ++i) {
    size_t which = choose(r.random);
    if (i < 3000 && which < 4) which = 9;   // starting up: the main thread works first
    const auto& [thread, frames] = stacks[which];
    r.sample(thread, frames, 1'000'000'000 + i * 833'333);
  }
  // A recursion, and a tail of many small functions, as real programs have them.
  std::vector<FrameId> deep = {start, libc_main, app_main};
  for (int depth = 0; depth < 30; ++depth) {
    deep.push_back(native(fmt::format("walk_directory_{}(std::filesystem::path const&)", depth % 5)));
    for (int i = 0; i < 6; ++i) {
      std::vector<FrameId> leaf = deep;
      leaf.push_back(native(fmt::format("visit_{}_{}()", depth, r.random() % 40)));
      r.sample(main, leaf, 1'000'000'000 + (r.random() % 3000) * 1'000'000ULL);
    }
  }
  header.events[0].fired = r.profile.sample_count() + 3;
  header.events[0].counts = {{"stored", r.profile.sample_count(), true}, {"lost: ring full", 3, true}};
  return r;
}

// Two CPUs that compute for a second, seen 99 times by clocks that do not tick as one.
Recording busy() {
  Recording r;
  r.profile.header.events[0].frequency_hz = 99;
  r.profile.header.duration_ns = 1'000'000'000;
  r.profile.header.target_cpu_ns = 2'000'000'000;
  r.profile.header.start_monotonic_ns = 1'000'000'000;
  const ImageId app = r.image("/usr/bin/compute", ImageKind::kExecutable);
  const std::vector<FrameId> frames = {r.frame(FrameKind::kNative, app, "_start"), r.frame(FrameKind::kNative, app, "work")};
  const ThreadId threads[] = {r.thread(1, "compute", 1, "one", ""), r.thread(1, "compute", 2, "two", "")};
  for (uint64_t i = 0; i < 99; ++i)
    for (uint64_t cpu = 0; cpu < 2; ++cpu) r.sample(threads[cpu], frames, 1'000'000'000 + 10'101'010 * i + 3'000'000 * cpu + r.random() % 200'000);
  return r;
}

// A thread that waits for a mutex and, of the time 30 %, in the kernel for a pipe, to which another one writes.
Recording waiting() {
  Recording r;
  r.profile.header.events = {{.name = "off-cpu", .unit = Unit::kNanoseconds, .spent = Spent::kWaiting}};
  r.profile.header.duration_ns = 1'000'000'000;
  r.profile.header.start_monotonic_ns = 1'000'000'000;
  const ImageId app = r.image("/usr/bin/server", ImageKind::kExecutable), kernel = r.image("[kernel]", ImageKind::kKernel);
  const FrameId main = r.frame(FrameKind::kNative, app, "main"), lock = r.frame(FrameKind::kNative, app, "takes_a_mutex"), read = r.frame(FrameKind::kKernel, kernel, "pipe_read");
  const auto waits = [&](std::vector<FrameId> frames, std::string_view state, uint64_t ms) {
    const Label label{r.profile.intern(kStateLabel), r.profile.intern(state)};
    r.profile.append_sample({.time_ns = 1'000'000'000 + r.profile.sample_count(), .thread = r.thread(1, "server", 1, "server", ""), .stack = r.profile.intern_stack(StackId(), frames),
                             .value = ms * 1'000'000, .labels = r.profile.intern_labels({&label, 1})});
  };
  waits({main, lock}, "lock", 700);
  Frame mark;
  mark.kind = FrameKind::kLabel;
  mark.label = r.profile.intern("[woken by writer (2)]");
  waits({main, read, r.profile.intern_frame(mark), r.frame(FrameKind::kJit, app, "writes")}, "io", 300);
  return r;
}

Recording hostile() {
  Recording r;
  const ImageId image = r.image("/tmp/<b>&\"'/\xff.so", ImageKind::kLibrary);
  const ThreadId thread = r.thread(1, "</title><script>fail()</script>", 1, "]]>\x01\"'", "a\nb");
  const std::string names[] = {"</script><script>globalThis.broken=1</script>", "\"quotes\" and 'more'", "]]><script>globalThis.broken=1</script>",
                               std::string("nul\0and\x1b[31mescape", 19), "invalid \xff\xfe\xc0\x80 utf-8", std::string(100'000, 'N'), "new\nline;semicolon",
                               "\xe2\x80\xae" "right to left", "<!--", "&amp;", "emoji \xf0\x9f\x90\x9b", "\xef\xbf\xbf", "__proto__", "{{PROFILE}}", ""};
  std::vector<FrameId> frames;
  for (const std::string& name : names) {
    frames.push_back(r.frame(FrameKind::kNative, image, name));
    for (int i = 0; i < 40; ++i) r.sample(thread, frames, 5 + static_cast<uint64_t>(i));
  }
  return r;
}

std::vector<sink::Annotation> annotations(const ProfileSnapshot&, const CallTreeOptions&) {
  sink::AnnotatedPart lines{false, "/src/demo/feed::.cc", {}}, code{true, "feed::decimal in /usr/bin/orderbook", {}};
  for (uint64_t i = 0; i < 120; ++i) lines.lines.push_back({i + 3, i == 70 ? "  for (;;) sum = 10 * sum + *at;  // </script><b>" : fmt::format("  line {}", i), i == 70 ? 1000U : i % 7, i == 70 ? 1500U : i % 7, i == 50});
  code.lines = {{0x401000, "mov      rax, rdi", 0, 0, false}, {0x401003, "imul     rax, rax, 0xa", 700, 700, false}, {0x401040, "ret", 2, 2, true}};
  return {{"is_digit(char)", {lines, code}, ""}, {"feed::decimal(char const*, char const*)", {code}, "/src/x.cc: No such file or directory"}};
}

void make(const ProfileSnapshot& profile, const std::string& path, std::string title) {
  sink::SinkOptions options;
  if (path.ends_with("annotated.html")) options.annotate = annotations;
  options.title = std::move(title);
  auto sink = sink::make_sink(path, options);
  if (sink) {
    const Result<void> written = (*sink)->finish(profile);
    if (written) return;
    std::fprintf(stderr, "%s\n", written.error().message().c_str());
  } else {
    std::fprintf(stderr, "%s\n", sink.error().message().c_str());
  }
  std::exit(1);
}

void make_text(const std::string& path, const std::string& text) {
  auto file = sink::OutputFile::create(path, {});
  CHECK(static_cast<bool>(file));
  file->write(text);
  CHECK(static_cast<bool>(file->commit()));
}

// A tree of exactly `nodes` nodes whose widths fall off as real ones do, one sample each.
void make_big(const std::string& path, size_t nodes) {
  CallTree tree;
  std::mt19937 random(7);
  tree.nodes.resize(nodes);
  std::vector<uint32_t> depth(nodes);

  for (uint32_t at = 0; at < nodes; ++at) {
    CallNode& node = tree.nodes[at];
    if (at != 0)
      do node.parent = random() % 3 == 0 ? at - 1 : static_cast<uint32_t>(random() % at);
      while (depth[node.parent] > 60);
    depth[at] = at == 0 ? 0 : depth[node.parent] + 1;
    node.name = tree.strings.intern(fmt::format("ns{}::function_{}(int, char const*)", random() % 50, random() % 20000));
    node.kind = at == 0 ? NodeKind::kRoot : static_cast<NodeKind>(2 + random() % 6);
    node.self = 1 + random() % 3;
  }
  Recording r;  // 200 threads in eight processes, the first the busiest, for 20 s
  std::vector<ThreadId> threads;
  for (Tid i = 0; i < 200; ++i) threads.push_back(r.thread(1000 + i % 8, fmt::format("server-{}", i % 8), 1000 + i, fmt::format("worker-{}", i), "server"));
  r.profile.header.duration_ns = 20'000'000'000;
  r.profile.header.target_cpu_ns = 60'000'000'000;
  std::vector<uint32_t> leaf(nodes);
  for (uint32_t at = 0; at < nodes; ++at) {
    Sample sample;
    sample.thread = threads[at < threads.size() ? at : std::min(random() % threads.size(), random() % threads.size())];
    sample.time_ns = 1'000'000'000 + 20'000'000'000 / nodes * at;
    sample.cpu = static_cast<uint16_t>(random() % 4);
    sample.value = static_cast<uint32_t>(tree.nodes[at].self);
    r.profile.append_sample(sample);
    leaf[at] = at;
  }
  std::string out;
  sink::Caption caption;
  caption.title = fmt::format("{} nodes", nodes);
  caption.seconds_per_value = 60.0 / static_cast<double>(r.profile.totals_of(EventId(0)).value);
  sink::append_report_html(r.profile, tree, leaf, caption, out);
  make_text(path, out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string directory = argv[1];
  if (argc > 2) {
    make_big(directory + "/big.html", std::strtoul(argv[2], nullptr, 10));
    return 0;
  }
  make_big(directory + "/threads.html", 4000);
  const Recording good = demo(), bad = hostile();
  for (const char* extension : {".svg", ".html", ".speedscope.json", ".firefox.json.gz"}) {
    make(good.profile, directory + "/demo" + extension, "orderbook under load");
    make(bad.profile, directory + "/hostile" + extension, "<script>globalThis.broken=1</script>\xff");
    make(Profile(), directory + "/empty" + extension, "nothing");
  }
  const std::string folded = "main;read 30\nmain;write 70\n";
  const auto stacks = sink::parse_folded({reinterpret_cast<const uint8_t*>(folded.data()), folded.size()}, "stacks.folded");
  if (!stacks) return 1;
  make(*stacks, directory + "/folded.html", "without times");
  make(busy().profile, directory + "/busy.html", "two CPUs");
  for (const char* extension : {".svg", ".html"}) make(waiting().profile, directory + "/waiting" + extension, "waiting");
  make(good.profile, directory + "/annotated.html", "with code");
  std::string alike;
  for (const char* type : {"int", "char", "unsigned long"})
    for (int i = 0; i < 4; ++i)
      alike += fmt::format("main;void std::{0}sort<{1}*, store::By<store::Key<{2}> > >({1}*, {1}*, store::By<store::Key<{2}> >) {3}\n", std::string(i == 3 ? 90 : 0, 'x'), type, i, 10 + i);
  const auto like_names = sink::parse_folded({reinterpret_cast<const uint8_t*>(alike.data()), alike.size()}, "alike.folded");
  if (!like_names) return 1;
  make(*like_names, directory + "/alike.html", "names that are alike");
  CallTree tree = build_call_tree(good.profile, {});
  sink::Baseline baseline;
  for (const CallNode& node : tree.nodes) {
    const std::string_view name = tree.text(node.name);
    baseline.self.push_back(name.find("decimal") != name.npos ? node.self * 3 : name.find("_Hash") != name.npos ? node.self / 4 : node.self);
  }
  baseline.total = baseline.self;
  for (size_t i = tree.nodes.size(); i-- > 1;) baseline.total[tree.nodes[i].parent] += baseline.total[i];
  sink::Caption caption;
  caption.title = "orderbook: before and after";
  std::string svg, html;
  sink::append_flame_graph_svg(tree, caption, &baseline, svg);
  sink::append_diff_report_html(tree, baseline, caption, html);
  make_text(directory + "/diff.svg", svg);
  make_text(directory + "/diff.html", html);
  return 0;
}
