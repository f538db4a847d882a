// SPDX-License-Identifier: Apache-2.0
// Files are empty, what is in them is what a test says.
#include "bpf_source/function_finder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "bpf_source/field_name.h"

namespace cicada::bpf_source {
namespace {

// Knows USDT probes only.
class FakeReader final : public ImageReader {
 public:
  explicit FakeReader(elf::UsdtSearch answer) : answer_(std::move(answer)) {}
  Result<UniqueFd> open_file(const std::string&, std::shared_ptr<const UniqueFd>, const std::stop_token&) override { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
  Result<elf::UsdtSearch> find_usdt(const process::ImageInfo&, int, std::span<const std::string>, size_t, const std::stop_token&) override { return answer_; }
  Result<symbolize::FunctionSearch> find_functions(const process::ImageInfo&, int, std::span<const std::string>, size_t, const std::stop_token&) override { return nothing(); }
  Result<void> check_instruction(const process::ImageInfo&, int, FileOffset, uint64_t, const std::stop_token&) override { return nothing(); }
  Result<std::vector<symbolize::FunctionReturns>> find_returns(const process::ImageInfo&, int, std::span<const symbolize::FunctionCode>, const std::stop_token&) override { return nothing(); }
  Result<unwind::UnwindRows> compile_rows(const process::ImageInfo&, int, const std::stop_token&) override { return nothing(); }
  Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo&, int, uint32_t, std::span<const unwind::StepQuestion>, const std::stop_token&) override { return nothing(); }

 private:
  static Error nothing() { return make_error(ErrorKind::kUnsupported, "not here"); }
  elf::UsdtSearch answer_;
};

event_field in_register(uint16_t offset) {
  event_field field{};
  field.offset = offset;
  field.bytes = 8;
  return field;
}

elf::FoundUsdt probe(uint64_t offset, std::vector<event_field> arguments, uint64_t semaphore = 0) { return {0, FileOffset(offset), FileOffset(semaphore), std::move(arguments), "app:begin"}; }

class UsdtFinder {
 public:
  UsdtFinder(const std::string& terms, std::vector<elf::FoundUsdt> probes, std::vector<std::string> near = {""}) {
    const EventSpec spec = parse_event_specs("usdt:/bin/app:app:begin" + terms)->front();
    const uint64_t notes = probes.size();
    finder_.emplace(std::vector<FunctionFinder::Event>{{spec.type.name, spec.place, false, false, spec.fields}}, true, images_,
                    std::make_shared<FakeReader>(elf::UsdtSearch{std::move(probes), near.front().empty() ? notes : 1, false, std::move(near)}));
    for (FunctionFinder::Found& found : finder_->look_into_paths({})) {
      for (FunctionFinder::Place& place : found.places) places.push_back(std::move(place));
    }
  }
  FunctionFinder* operator->() { return &*finder_; }
  std::vector<FunctionFinder::Place> places;

 private:
  process::ImageRegistry images_{process::ImageRegistry::Options{}};
  std::optional<FunctionFinder> finder_;
};

TEST(FunctionFinder, HasPlacesOfUsdtProbesWithTheirSemaphores) {
  UsdtFinder finder("", {probe(0x2000, {}, 0x40), probe(0x1000, {in_register(112)}, 0x40), probe(0x2000, {}, 0x40)});
  ASSERT_EQ(finder.places.size(), 2U);
  EXPECT_EQ(finder.places[0].offset, FileOffset(0x1000));
  EXPECT_EQ(finder.places[1].offset, FileOffset(0x2000));
  EXPECT_EQ(finder.places[1].semaphore, FileOffset(0x40));
  EXPECT_EQ(finder.places[1].function, "app:begin");
  EXPECT_EQ(finder.places[1].number, 0U) << "no argument is asked for";
  EXPECT_EQ(finder->place_fields().size(), 1U);
  EXPECT_TRUE(finder->warnings().empty());
}

TEST(FunctionFinder, HasFieldsOfAPlaceOnceForAllThatHaveTheSame) {
  UsdtFinder finder("/value=arg1,arg0>7/", {probe(0x1000, {in_register(0), in_register(8)}), probe(0x1001, {in_register(8), in_register(0)}), probe(0x1002, {in_register(0), in_register(8)})});
  ASSERT_EQ(finder.places.size(), 3U);
  EXPECT_EQ(finder.places[0].number, 1U);
  EXPECT_EQ(finder.places[1].number, 2U);
  EXPECT_EQ(finder.places[2].number, 1U);
  ASSERT_EQ(finder->place_fields().size(), 3U);
  EXPECT_EQ(finder->place_fields()[1].value.offset, 8);
  EXPECT_EQ(finder->place_fields()[1].filter[0].field.offset, 0);
  EXPECT_EQ(finder->place_fields()[1].filter[0].number, 7);
  EXPECT_EQ(finder->place_fields()[2].value.offset, 0);
}

TEST(FunctionFinder, LeavesOutPlacesWithoutWhatIsAskedFor) {
  UsdtFinder some("/arg1>7/", {probe(0x1000, {in_register(0), in_register(8)}), probe(0x1001, {in_register(0)}), probe(0x1002, {in_register(0), {}})});
  EXPECT_EQ(some.places.size(), 1U);
  ASSERT_EQ(some->warnings().size(), 2U);
  EXPECT_EQ(some->warnings()[0], "usdt:/bin/app:app:begin: left out: 1 places without so many arguments, as app:begin");
  EXPECT_EQ(some->warnings()[1], "usdt:/bin/app:app:begin: left out: 1 places whose argument is no whole number in a register or in memory, as app:begin");
  UsdtFinder none("/arg1>7/", {probe(0x1000, {in_register(0), {}})});
  EXPECT_TRUE(none.places.empty());
  EXPECT_EQ(none->nothing_found(0).message(), "usdt:/bin/app:app:begin: app:begin is a probe whose argument is no whole number in a register or in memory");
}

TEST(FunctionFinder, HasNoMoreFieldsOfPlacesThanTheKernelSide) {
  std::vector<elf::FoundUsdt> probes;
  for (uint64_t i = 0; i < MAX_PLACE_FIELDS + 1; ++i) {
    event_field constant{};
    constant.kind = FIELD_CONSTANT;
    constant.bytes = 8;
    constant.number = static_cast<int64_t>(i);
    probes.push_back(probe(0x1000 + i, {constant}));
  }
  UsdtFinder finder("/by=arg0/", probes);
  EXPECT_EQ(finder->place_fields().size(), size_t{MAX_PLACE_FIELDS});
  EXPECT_EQ(finder.places.size(), size_t{MAX_PLACE_FIELDS} - 1);
  EXPECT_EQ(finder->warnings(), (std::vector<std::string>{"usdt:/bin/app:app:begin: left out: 2 places whose arguments are in other places than those of a thousand others, as app:begin"}));
}

TEST(FunctionFinder, SaysWhyThereIsNoUsdtProbe) {
  EXPECT_EQ(UsdtFinder("", {})->nothing_found(0).message(), "usdt:/bin/app:app:begin: there are no USDT probes in /bin/app");
  EXPECT_EQ(UsdtFinder("", {}, {"app:begun, app:bag"})->nothing_found(0).message(), "usdt:/bin/app:app:begin: no USDT probe app:begin in /bin/app; did you mean app:begun, app:bag?");
}

}  // namespace
}  // namespace cicada::bpf_source
