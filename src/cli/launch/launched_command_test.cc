// SPDX-License-Identifier: Apache-2.0
#include "cli/launch/launched_command.h"

#include <gmock/gmock.h>
#include <poll.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace cicada::cli {
namespace {

class LaunchedCommandTest : public testing::Test {
 protected:
  LaunchedCommandTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "cicada-launch-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
  }
  ~LaunchedCommandTest() override { std::filesystem::remove_all(directory_); }

  static int run(std::vector<std::string> argv, const std::vector<std::string>& more = {}) {
    auto command = LaunchedCommand::hold(std::move(argv), InvokingUser::effective(), more);
    if (!command) return LaunchedCommand::exit_code_of(command.error());
    const auto released = command->release();
    return released ? command->wait() : LaunchedCommand::exit_code_of(released.error());
  }
  std::string file(const char* name, const char* content, std::filesystem::perms perms) {
    const std::filesystem::path path = directory_ / name;
    std::ofstream(path) << content;
    std::filesystem::permissions(path, perms);
    return path;
  }

  std::filesystem::path directory_;
  static constexpr auto kExecutable = std::filesystem::perms::owner_all;
};

TEST_F(LaunchedCommandTest, GivesTheCommandsExitCode) {
  EXPECT_EQ(run({"true"}), 0);
  EXPECT_EQ(run({"sh", "-c", "exit 7"}), 7);
  EXPECT_EQ(run({"sh", "-c", "kill -TERM $$"}), 128 + SIGTERM);
}

TEST_F(LaunchedCommandTest, TellsNotFoundFromCannotRun) {
  EXPECT_EQ(run({"no-such-command-anywhere"}), 127);
  EXPECT_EQ(run({directory_ / "nothing"}), 127);
  EXPECT_EQ(run({file("plain", "text", std::filesystem::perms::owner_read)}), 126);
  EXPECT_EQ(run({directory_}), 126);
  EXPECT_EQ(run({file("orphan", "#!/no/such/interpreter\n", kExecutable)}), 127);
}

TEST_F(LaunchedCommandTest, RunsScriptsWithoutAnInterpreterLine) {
  EXPECT_EQ(run({file("bare", "exit $1\n", kExecutable), "5"}), 5);
}

TEST_F(LaunchedCommandTest, RunsNothingBeforeItIsReleased) {
  const std::string mark = directory_ / "mark";
  auto command = LaunchedCommand::hold({"touch", mark}, InvokingUser::effective());
  ASSERT_TRUE(command);
  pollfd ended = {command->exit_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 50), 0);
  EXPECT_FALSE(std::filesystem::exists(mark));
  ASSERT_TRUE(command->release());
  EXPECT_EQ(command->wait(), 0);
  EXPECT_TRUE(std::filesystem::exists(mark));
}

TEST_F(LaunchedCommandTest, NeverRunsWhatIsNotReleased) {
  const std::string mark = directory_ / "mark";
  Pid pid = 0;
  {
    const auto command = LaunchedCommand::hold({"touch", mark}, InvokingUser::effective());
    ASSERT_TRUE(command);
    pid = command->pid();
  }
  EXPECT_EQ(::kill(pid, 0), -1);  // reaped
  EXPECT_FALSE(std::filesystem::exists(mark));
}

TEST_F(LaunchedCommandTest, ExitDescriptorBecomesReadable) {
  auto command = LaunchedCommand::hold({"true"}, InvokingUser::effective());
  ASSERT_TRUE(command);
  ASSERT_TRUE(command->release());
  pollfd ended = {command->exit_fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&ended, 1, 10000), 1);
  EXPECT_EQ(command->find_exit_code(), 0);
  EXPECT_EQ(command->find_exit_code(), 0);  // and again
}

TEST_F(LaunchedCommandTest, AddsToTheEnvironmentOfTheCommandOnly) {
  EXPECT_EQ(run({"sh", "-c", "exit \"$CICADA_TEST_CODE\""}, {"CICADA_TEST_CODE=9"}), 9);
  EXPECT_EQ(std::getenv("CICADA_TEST_CODE"), nullptr);
}

TEST(InvokingUser, IgnoresSudoVariablesUnlessRoot) {
  ::setenv("SUDO_UID", "12345", 1);
  ::setenv("SUDO_GID", "12346", 1);
  const InvokingUser user = InvokingUser::detect();
  EXPECT_EQ(user.through_sudo(), ::geteuid() == 0);
  EXPECT_EQ(user.uid(), ::geteuid() == 0 ? 12345u : ::geteuid());
  EXPECT_FALSE(InvokingUser::effective().through_sudo());
  if (user.through_sudo()) {
    for (const std::string& variable : user.environment())
      EXPECT_THAT(variable, testing::Not(testing::StartsWith("SUDO_")));
  }
  ::setenv("SUDO_UID", "not a number", 1);
  EXPECT_FALSE(InvokingUser::detect().through_sudo());
  ::unsetenv("SUDO_UID");
  ::unsetenv("SUDO_GID");
}

}  // namespace
}  // namespace cicada::cli
