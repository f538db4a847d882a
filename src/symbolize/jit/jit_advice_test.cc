// SPDX-License-Identifier: Apache-2.0
#include "symbolize/jit/jit_advice.h"

#include <gtest/gtest.h>

namespace cicada::symbolize {
namespace {

using profile::FrameId;
using profile::FrameKind;

class JitAdvice : public ::testing::Test {
 protected:
  profile::ProcessId process(Pid pid, std::string_view name) {
    const profile::ProcessId id = profile.intern_process(pid, 1);
    profile.edit_process(id, [&](profile::Process& row) { row.name = profile.intern(name); });
    return id;
  }
  FrameId native(std::string_view image, std::string_view function) {
    profile::Image row;
    row.path = profile.intern(image);
    return named(FrameKind::kNative, profile.intern_image(row), function);
  }
  FrameId jit(std::string_view function) { return named(FrameKind::kJit, {}, function); }
  void sample(profile::ProcessId process, std::initializer_list<FrameId> frames, int times) {
    const profile::ThreadId thread = profile.intern_thread(process, profile.processes()[process.value].pid);
    const profile::StackId stack = profile.intern_stack({}, std::span(frames.begin(), frames.size()));
    for (int i = 0; i < times; ++i) profile.append_sample({.thread = thread, .stack = stack});
  }

  profile::Profile profile;

 private:
  FrameId named(FrameKind kind, profile::ImageId image, std::string_view function) {
    profile::Frame frame;
    frame.kind = kind;
    frame.image = image;
    frame.address = ++addresses_;
    const FrameId id = profile.intern_frame(frame);
    const profile::Location location{.function = profile.intern_function({profile.intern(function), {}, frame.image})};
    if (!function.empty()) profile.set_locations(id, {&location, 1});
    return id;
  }
  uint64_t addresses_ = 0;
};

TEST_F(JitAdvice, IsOfTheLanguageThatRuns) {
  sample(process(1, "puma"), {native("/usr/lib/libruby-3.1.so.3.1", "rb_vm_exec")}, 20);
  sample(process(2, "php-fpm: pool"), {native("/usr/sbin/php-fpm8.2", "execute_ex")}, 20);
  sample(process(3, "gunicorn"), {native("/usr/bin/python3.11", "_PyEval_EvalFrameDefault"), native("libm.so.6", "sin")}, 20);
  sample(process(4, "server"), {native("/usr/bin/node", "node::Start"), jit("")}, 20);
  const auto lines = jit_advice(profile);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].substr(0, 32), "puma (process 1): Ruby functions");
  EXPECT_EQ(lines[1].substr(0, 40), "php-fpm: pool (process 2): PHP functions");
  EXPECT_EQ(lines[2].substr(0, 38), "gunicorn (process 3): Python functions");
  EXPECT_NE(lines[3].find("--perf-basic-prof"), std::string::npos);
}

TEST_F(JitAdvice, IsNeverFalse) {
  const FrameId loop = native("/usr/bin/python3.12", "_PyEval_EvalFrameDefault");
  sample(process(1, "python3"), {loop, jit("main (app.py)"), loop}, 20);  // it is shown
  sample(process(2, "python3"), {native("/opt/python3", "main")}, 20);    // only called so
  sample(process(3, "vim"), {native("/usr/bin/vim", "main"), native("libpython3.11.so.1.0", "PyObject_Malloc")}, 20);  // linked with it
  sample(process(4, "java"), {native("libjvm.so", "JavaMain")}, 20);      // what is compiled has names
  sample(process(5, "a.out"), {jit("")}, 20);                              // nobody knows whose code this is
  sample(process(6, "ruby"), {native("/usr/bin/ruby3.1", "ruby_setup")}, 2);
  sample(process(7, "mostly"), {native("a.out", "main")}, 1000);
  sample(profile::ProcessId(6), {loop}, 10);
  EXPECT_EQ(jit_advice(profile), std::vector<std::string>());
}

}  // namespace
}  // namespace cicada::symbolize
