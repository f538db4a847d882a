// SPDX-License-Identifier: Apache-2.0
// Where in files the functions and USDT probes are that events name: the files that targets map, and those that a path names.
//
//   image ──▶ which events mean it ──▶ a parser finds the names ──▶ what can be probed there; what is left out is remembered, and why
//
// What goes wrong with one file leaves the others. Threads: one at a time.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "bpf_source/event_spec.h"
#include "bpf_source/image_reader.h"
#include "process/images/image_registry.h"

namespace cicada::bpf_source {

class FunctionFinder {
 public:
  static constexpr size_t kMostPlaces = 16'384;  // of an event in a file; of all events that are attached

  struct Event {
    std::string name;
    FunctionPlace place;
    bool needs_arguments = false;
    bool times_calls = false;
    event_fields fields = {};                 // what is asked of arguments of a USDT probe, and of those by name
    std::vector<std::string> arguments = {};  // of a function, by name (event_spec.h)
  };
  struct Place {
    FileOffset offset;
    std::string function;
    FileOffset semaphore = {};  // of a USDT probe (uprobe_links.h)
    uint32_t number = 0;        // cookie_place(): of place_fields(), 0: they are asked for nothing; and where calls are timed, of the function
    std::vector<event_field> arguments = {};  // of a USDT probe, for people
  };
  // Of an event in a file; at least one. By offset, each once. Where calls are timed, their returns come before their begins.
  struct Found {
    size_t event = 0;
    std::string path;
    UniqueFd fd;
    uint32_t role = 0;       // enum probe_role
    bool by_kernel = false;  // functions begin there whose returns the kernel is to catch
    std::vector<Place> places;
  };
  // `whole_machine`: for what is said to people.
  FunctionFinder(std::vector<Event> events, bool whole_machine, process::ImageRegistry& images, std::shared_ptr<ImageReader> reader)
      : events_(std::move(events)), whole_machine_(whole_machine), images_(images), reader_(std::move(reader)), sums_(events_.size()) {}

  const std::vector<Event>& events() const { return events_; }
  // Whether an event may have functions in an image of that path; of the second, whether it has them in no file that its path names.
  bool is_any_meant(const std::string& path) const { return !events_that_mean(path).empty(); }
  bool is_any_wanting(const std::string& path) const;
  // What is asked of the numbers of places, by Place::number; the first is nobody's. More come with each look.
  std::span<const event_fields> place_fields() const { return place_fields_; }
  // In an image of the registry. The same file is searched once an event, whatever its images. Fails: kGone (it is not open, perhaps not yet), what reading it says.
  Result<std::vector<Found>> look_into(uint32_t image, const std::stop_token& stop);
  // In the files that paths name and that were not among these images; as the root directory of the first image has them.
  std::vector<Found> look_into_paths(const std::stop_token& stop);
  // Why there is no place of an event.
  Error nothing_found(size_t event) const;
  // A line for each event and reason that functions are left out, or that a probe changes the program.
  std::vector<std::string> warnings() const;

 private:
  // A reason to leave functions out.
  enum Reason : uint8_t { kIndirect, kChanged, kGoArguments, kGoReturn, kGoCall, kNoReturn, kWithin, kUnsafe, kNoArgument, kUnreadable, kTooManyFields, kNoDebugInformation, kNoParameter, kOptimizedAway, kFloatingPoint, kNoNumber, kUncertain, kReasons };
  // What was left out of an event for one reason.
  struct LeftOut {
    size_t count = 0;
    std::string function;  // one of them
    std::string parameter;  // of that, where it is the reason
  };
  struct Sum {
    size_t images = 0;
    LeftOut left_out[kReasons];
    LeftOut by_kernel;              // whose returns the kernel catches
    std::vector<std::string> near;  // names that may have been meant
    std::optional<Error> error;     // of a file, the first
    bool is_cut_short = false, has_symbols = false;
    void leave_out(Reason reason, const std::string& function, const std::string& parameter = {}) {
      left_out[reason] = {left_out[reason].count + 1, function, parameter};
    }
  };
  struct File;
  Result<std::vector<Found>> look_into(File& file, std::span<const size_t> wanted, const std::stop_token& stop);
  Result<void> look_for_functions(File& file, std::span<const size_t> wanted, std::vector<Found>& all, const std::stop_token& stop);
  Result<void> look_for_usdt(const File& file, std::span<const size_t> wanted, std::vector<Found>& all, const std::stop_token& stop);
  // Its places of the event are kept already.
  bool is_known(size_t event, const File& file) const;
  // Sorts the places, and keeps what has any.
  Result<void> keep(const File& file, std::span<Found> found, std::vector<Found>& all);
  // Where the arguments are that an event asks for: a number of place_fields(). Nothing: the place is left out.
  std::optional<uint32_t> bind(size_t event, const elf::FoundUsdt& probe);
  std::optional<uint32_t> bind(size_t event, const symbolize::FoundFunction& function, const symbolize::FunctionParameters& known);
  std::optional<uint32_t> number_fields(size_t event, const event_fields& fields, const std::string& place);
  // Of functions, each in order; those that are left out are taken out.
  Result<std::vector<uint32_t>> bind_all(const File& file, size_t event, std::vector<symbolize::FoundFunction>& functions, const std::stop_token& stop);
  std::optional<FileOffset> find_begin(const File& file, size_t event, const symbolize::FoundFunction& function);
  // `fields`: of each function, of place_fields().
  Result<void> add_begins(const File& file, std::span<const symbolize::FoundFunction> functions, std::span<const uint32_t> fields, Found& found, const std::stop_token& stop);
  // Of an event in a file, by what finds them.
  struct Places {
    Found &returns, &by_kernel, &begins;
  };
  Result<void> add_returns(const File& file, std::span<const symbolize::FoundFunction> functions, std::span<const uint32_t> fields, const Places& found, const std::stop_token& stop);
  std::vector<size_t> events_that_mean(const std::string& path) const;
  static Reason reason_of(symbolize::ParameterProblem problem);
  static std::string text_of(Reason reason, const LeftOut& left);

  const std::vector<Event> events_;
  const bool whole_machine_;
  process::ImageRegistry& images_;
  const std::shared_ptr<ImageReader> reader_;
  std::vector<Sum> sums_;                                   // by event
  std::vector<event_fields> place_fields_{1};
  std::set<std::tuple<size_t, uint64_t, uint64_t>> known_;  // event, device, inode
  uint32_t timed_functions_ = 0;
};

}  // namespace cicada::bpf_source
