// SPDX-License-Identifier: Apache-2.0
// Files are empty, what is in them is what a test says.
#include "bpf_source/function_finder.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "abi/call.h"
#include "bpf_source/field_name.h"

namespace cicada::bpf_source {
namespace {

// Knows USDT probes, and functions by what debug information has about them.
class FakeReader final : public ImageReader {
 public:
  struct Function {
    symbolize::FoundFunction found;
    symbolize::FunctionParameters parameters;
  };
  explicit FakeReader(elf::UsdtSearch answer) : answer_(std::move(answer)) {}
  explicit FakeReader(std::vector<Function> functions) : functions_(std::move(functions)) {}
  Result<UniqueFd> open_file(const std::string&, std::shared_ptr<const UniqueFd>, const std::stop_token&) override { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
  Result<elf::UsdtSearch> find_usdt(const process::ImageInfo&, int, std::span<const std::string>, size_t, const std::stop_token&) override { return answer_; }
  Result<symbolize::FunctionSearch> find_functions(const process::ImageInfo&, int, std::span<const std::string>, size_t, const std::stop_token&) override {
    symbolize::FunctionSearch search;
    for (const Function& one : functions_) search.functions.push_back(one.found);
    search.matches = functions_.size();
    search.has_symbols = true;
    search.near = {""};
    return search;
  }
  Result<std::vector<symbolize::FunctionParameters>> find_parameters(const process::ImageInfo&, int, std::span<const LinkAddr> begins, const std::stop_token&) override {
    ++questions;
    std::vector<symbolize::FunctionParameters> all;
    for (const LinkAddr begin : begins) all.push_back(std::find_if(functions_.begin(), functions_.end(), [&](const Function& one) { return one.found.begin == begin; })->parameters);
    return all;
  }
  Result<void> check_instruction(const process::ImageInfo&, int, FileOffset, uint64_t, const std::stop_token&) override { return nothing(); }
  Result<std::vector<symbolize::FunctionReturns>> find_returns(const process::ImageInfo&, int, std::span<const symbolize::FunctionCode> functions, const std::stop_token&) override {
    return std::vector<symbolize::FunctionReturns>(functions.size(), {{}, true});
  }
  Result<unwind::UnwindRows> compile_rows(const process::ImageInfo&, int, const std::stop_token&) override { return nothing(); }
  Result<std::vector<unwind::CodeRule>> read_code(const process::ImageInfo&, int, const unwind::CodeQuestion&, const std::stop_token&) override { return nothing(); }
  Result<std::vector<unwind::ImageStep>> take_steps(const process::ImageInfo&, int, uint32_t, std::span<const unwind::StepQuestion>, const std::stop_token&) override { return nothing(); }
  size_t questions = 0;  // about parameters

 private:
  static Error nothing() { return make_error(ErrorKind::kUnsupported, "not here"); }
  elf::UsdtSearch answer_;
  std::vector<Function> functions_;
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

symbolize::FunctionParameter parameter(std::string name, uint16_t offset, uint8_t bytes = 8, bool by_convention = false) {
  symbolize::FunctionParameter one;
  one.name = std::move(name);
  one.place.offset = offset;
  one.place.bytes = bytes;
  one.by_convention = by_convention;
  return one;
}

FakeReader::Function function(std::string name, uint64_t begin, std::vector<symbolize::FunctionParameter> parameters, bool is_described = true) {
  FakeReader::Function one;
  one.found.begin = LinkAddr(begin);
  one.found.code = {FileOffset(begin), 16, FileOffset(0), 0};
  one.found.name = std::move(name);
  one.parameters = {is_described, std::move(parameters)};
  return one;
}

class NamedFinder {
 public:
  NamedFinder(const std::string& terms, std::vector<FakeReader::Function> functions) : reader(std::make_shared<FakeReader>(std::move(functions))) {
    const EventSpec spec = parse_event_specs("u:/bin/app:f*" + terms)->front();
    finder_.emplace(std::vector<FunctionFinder::Event>{{spec.type.name, spec.place, false, spec.times_calls, spec.fields, spec.arguments}}, true, images_, reader);
    for (FunctionFinder::Found& found : finder_->look_into_paths({})) {
      for (FunctionFinder::Place& place : found.places) places.push_back(std::move(place));
    }
  }
  FunctionFinder* operator->() { return &*finder_; }
  const std::shared_ptr<FakeReader> reader;
  std::vector<FunctionFinder::Place> places;

 private:
  process::ImageRegistry images_{process::ImageRegistry::Options{}};
  std::optional<FunctionFinder> finder_;
};

TEST(FunctionFinder, PutsArgumentsWhereEachFunctionHasThem) {
  NamedFinder finder("/value=bytes,s8(level)<0/", {function("fa", 0x1000, {parameter("bytes", 112), parameter("level", 104, 4)}), function("fb", 0x1010, {parameter("level", 112, 4), parameter("bytes", 96)}),
                                                    function("fc", 0x1020, {parameter("level", 104, 4), parameter("bytes", 112)})});
  ASSERT_EQ(finder.places.size(), 3U);
  EXPECT_EQ(finder.places[0].number, 1U);
  EXPECT_EQ(finder.places[1].number, 2U);
  EXPECT_EQ(finder.places[2].number, 1U) << "the same registers";
  ASSERT_EQ(finder->place_fields().size(), 3U);
  EXPECT_EQ(finder->place_fields()[2].value.offset, 96);
  EXPECT_EQ(finder->place_fields()[2].value.kind, FIELD_OF_RECORD);
  EXPECT_EQ(finder->place_fields()[2].filter[0].field.offset, 112);
  EXPECT_EQ(finder->place_fields()[2].filter[0].field.bytes, 1);
  EXPECT_EQ(finder->place_fields()[2].filter[0].field.is_signed, 1);
}

TEST(FunctionFinder, AsksForNoParametersWhereNoneIsNamed) {
  NamedFinder finder("/value=arg0/", {function("fa", 0x1000, {parameter("bytes", 112)})});
  EXPECT_EQ(finder.places.size(), 1U);
  EXPECT_EQ(finder.places[0].number, 0U);
  EXPECT_EQ(finder.reader->questions, 0U);
}

TEST(FunctionFinder, NumbersFunctionsWithTheirFieldsWhereCallsAreTimed) {
  NamedFinder finder("/return,by=level/", {function("fa", 0x1000, {parameter("level", 112)}), function("fb", 0x1010, {parameter("level", 104)}), function("fc", 0x1020, {parameter("level", 104)})});
  std::map<std::string, std::set<uint32_t>> numbers;
  for (const FunctionFinder::Place& place : finder.places) numbers[place.function].insert(place.number);
  ASSERT_EQ(finder.places.size(), 6U) << "begins and returns";
  EXPECT_EQ(numbers["fa"], std::set<uint32_t>{cookie_place(0, 1)});
  EXPECT_EQ(numbers["fb"], std::set<uint32_t>{cookie_place(1, 2)});
  EXPECT_EQ(numbers["fc"], std::set<uint32_t>{cookie_place(2, 2)});
  const uint64_t cookie = place_cookie(event_cookie(15, 7), ROLE_RETURN, cookie_place(MAX_COOKIE_FUNCTIONS - 1, MAX_PLACE_FIELDS - 1));
  EXPECT_EQ(cookie_event(cookie), 15U);
  EXPECT_EQ(cookie_role(cookie), uint32_t{ROLE_RETURN});
  EXPECT_EQ(cookie_fields(cookie), uint32_t{MAX_PLACE_FIELDS - 1});
  EXPECT_EQ(cookie_value(cookie), 7U);
  EXPECT_EQ(call_function(cookie), call_function(place_cookie(event_cookie(15, 7), ROLE_BEGIN, cookie_place(MAX_COOKIE_FUNCTIONS - 1, MAX_PLACE_FIELDS - 1))));
}

TEST(FunctionFinder, SaysWhichArgumentsItCannotRead) {
  symbolize::FunctionParameter removed = parameter("bytes", 0, 0), floating = removed;
  removed.problem = symbolize::ParameterProblem::kOptimizedAway;
  floating.problem = symbolize::ParameterProblem::kFloatingPoint;
  FakeReader::Function clone = function("fd", 0x1030, {parameter("bytes", 112, 8, true)});
  clone.found.changed_arguments = true;
  FakeReader::Function good = clone;
  good.found.begin = LinkAddr(0x1040);
  good.found.code.begin = FileOffset(0x1040);
  good.parameters.parameters[0].by_convention = false;
  NamedFinder finder("/value=bytes/", {function("fa", 0x1000, {}, false), function("fb", 0x1010, {removed}), function("fc", 0x1020, {floating}), clone, good, function("fe", 0x1050, {parameter("bites", 112), parameter("level", 104)})});
  ASSERT_EQ(finder.places.size(), 1U);
  EXPECT_EQ(finder.places[0].offset, FileOffset(0x1040));
  EXPECT_EQ(finder->warnings(), (std::vector<std::string>{"u:/bin/app:f*: left out: 1 functions without debug information about its parameters (arg0 to arg5 need none), as fa",
                                                           "u:/bin/app:f*: left out: 1 functions without a parameter bytes; did you mean bites? It has bites, level, as fe",
                                                           "u:/bin/app:f*: left out: 1 functions whose bytes is in no register: the compiler has optimized it away, as fb",
                                                           "u:/bin/app:f*: left out: 1 functions whose bytes is a floating-point number, as fc",
                                                           "u:/bin/app:f*: left out: 1 functions whose bytes is in a place that its debug information leaves open, as fd"}));
}

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
