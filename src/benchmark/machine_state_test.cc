// SPDX-License-Identifier: Apache-2.0
#include "benchmark/machine_state.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace cicada::benchmark {
namespace {

using testing::HasSubstr;

class MachineStateTest : public testing::Test {
 protected:
  MachineStateTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cicada-machine-XXXXXX").string();
    CHECK(::mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
  }
  ~MachineStateTest() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  std::vector<std::string> warnings() const { return machine_warnings(root_); }

  std::string root_;
};

TEST_F(MachineStateTest, WarnsOfNothingThatTheMachineDoesNotTell) { EXPECT_TRUE(warnings().empty()); }

TEST_F(MachineStateTest, WarnsOfEachCauseWithItsRemedy) {
  write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave");
  write("/sys/devices/system/cpu/intel_pstate/no_turbo", "0");
  write("/sys/devices/system/cpu/smt/active", "1");
  write("/proc/loadavg", "1.50 0.5 0.2 1/100 77");
  write("/proc/meminfo", "MemTotal: 1 kB\nSwapTotal:     4096000 kB\nSwapFree:      2048000 kB");
  write("/proc/sys/kernel/randomize_va_space", "2");
  EXPECT_THAT(warnings(), testing::ElementsAre(HasSubstr("cpupower frequency-set -g performance"), HasSubstr("no_turbo"), HasSubstr("smt/control"), HasSubstr("load 1.50"),
                                               HasSubstr("2000 MB are swapped out"), HasSubstr("setarch -R")));
}

TEST_F(MachineStateTest, IsContentWithAQuietMachine) {
  write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
  write("/sys/devices/system/cpu/cpufreq/boost", "0");
  write("/sys/devices/system/cpu/smt/active", "0");
  write("/proc/loadavg", "0.10 0.5 0.2 1/100 77");
  write("/proc/meminfo", "SwapTotal:     4096000 kB\nSwapFree:      4096000 kB");
  write("/proc/sys/kernel/randomize_va_space", "0");
  EXPECT_TRUE(warnings().empty());
  write("/sys/devices/system/cpu/cpufreq/boost", "1");
  EXPECT_THAT(warnings(), testing::ElementsAre(HasSubstr("cpufreq/boost")));
}

TEST_F(MachineStateTest, IsKnownByWhatMakesTimesDiffer) {
  write("/proc/sys/kernel/hostname", "box");
  write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: A CPU: fast");
  write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil");
  EXPECT_THAT(machine_fingerprint(root_), testing::UnorderedElementsAre(testing::Pair("host", "box"), testing::Pair("cpu", "A CPU: fast"), testing::Pair("governor", "schedutil")));
}

}  // namespace
}  // namespace cicada::benchmark
