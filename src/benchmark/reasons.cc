// SPDX-License-Identifier: Apache-2.0
#include "benchmark/reasons.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "profile/function_totals.h"

namespace cicada::benchmark {
namespace {

constexpr size_t kMaxReasons = 3;
constexpr double kLeastReason = 0.1;      // of the whole change
constexpr double kExplained = 0.5;        // likewise: what is called need not be looked at
constexpr double kFalseReasons = 0.05;
constexpr double kLeastGuess = 1;         // in standard errors
constexpr double kUsualRuns = 4;          // what is usual counts as much as so many runs
constexpr double kFewSamples = 5;         // in a run: draws of so few vary as independent ones
constexpr double kLeastSpread = 0.02;     // of that of independent draws

using Count = FunctionSamples::Count;
using Runs = std::span<const FunctionSamples>;

// One function's time in each run, in parts of the mean time before.
struct Times {
  std::vector<double> before, after;
  double samples = 0;  // in a run, on average
  static double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
  }
  static double squares(const std::vector<double>& values) {
    const double middle = mean(values);
    double sum = 0;
    for (const double value : values) sum += (value - middle) * (value - middle);
    return sum;
  }
  double change() const { return mean(after) - mean(before); }
  double most() const { return std::max(mean(before), mean(after)); }
  double degrees() const { return std::max(0.0, static_cast<double>(before.size() + after.size()) - 2); }
  // Variance in a run, as a multiple of that of independent draws.
  double spread(double samples_of_all) const {
    const double middle = (mean(before) + mean(after)) / 2;
    if (!(middle > 0) || degrees() == 0) return 1;
    return (squares(before) + squares(after)) / degrees() * samples_of_all / middle;
  }
};

class Search {
 public:
  Search(Runs before, Runs after, double change) : before_(before), after_(after), change_(change) {
    double samples = 0, time = 0;
    for (const Runs runs : {before, after})
      for (const FunctionSamples& run : runs) samples += run.all;
    for (const FunctionSamples& run : before) time += run.time;
    const size_t runs = before.size() + after.size();
    samples_ = runs == 0 ? 0 : samples / static_cast<double>(runs);
    time_ = before.empty() ? 0 : time / static_cast<double>(before.size());
  }

  std::vector<Reason> by(double Count::*time) const {
    std::vector<Reason> all;
    if (before_.empty() || after_.empty() || !(samples_ > 0) || !(time_ > 0)) return all;
    std::map<std::string, Times> functions;
    for (const Runs runs : {before_, after_})
      for (const FunctionSamples& run : runs)
        for (const auto& [name, count] : run.functions) functions[name].samples += count.*time / static_cast<double>(before_.size() + after_.size());
    std::vector<double> spreads;
    for (auto& [name, times] : functions) {
      times.before = times_of(name, before_, time);
      times.after = times_of(name, after_, time);
      if (times.samples >= kFewSamples) spreads.push_back(times.spread(samples_));
    }
    const double usual = spreads.empty() ? 1 : summarise(std::move(spreads)).median;
    std::vector<double> p;
    for (const auto& [name, times] : functions) {
      if (times.most() < kLeastReason * std::abs(change_)) continue;  // cannot be
      all.push_back(judge(name, times, times.samples < kFewSamples ? std::max(usual, 1.0) : usual));
      p.push_back(all.back().error > 0 ? t_tail(all.back().change / all.back().error, degrees_of(times)) : 1);
    }
    p = adjust_p(std::move(p));
    for (size_t i = 0; i < all.size(); ++i) {
      all[i].sure = p[i] <= kFalseReasons;
      all[i].with_callees = time == &Count::total;
    }
    std::erase_if(all, [&](const Reason& one) { return one.change * change_ <= 0 || std::abs(one.change) < kLeastReason * std::abs(change_); });
    return all;
  }

 private:
  std::vector<double> times_of(const std::string& function, Runs runs, double Count::*time) const {
    std::vector<double> times;
    for (const FunctionSamples& run : runs) {
      const auto found = run.functions.find(function);
      const double count = found == run.functions.end() ? 0 : found->second.*time;
      times.push_back(run.all > 0 ? count / run.all * run.time / time_ : 0);
    }
    return times;
  }
  // One run of each shows no spread: as independent draws, then.
  static double degrees_of(const Times& times) { return times.degrees() == 0 ? 1e6 : times.degrees() + kUsualRuns; }
  Reason judge(const std::string& name, const Times& times, double usual) const {
    const double degrees = times.degrees();
    const double spread = degrees == 0 ? 1 : (kUsualRuns * std::max(usual, kLeastSpread) + degrees * times.spread(samples_)) / (kUsualRuns + degrees);
    const auto variance = [&](const std::vector<double>& values) { return spread * (Times::mean(times.before) + Times::mean(times.after)) / 2 / samples_ / static_cast<double>(values.size()); };
    return {name, times.change(), std::sqrt(variance(times.before) + variance(times.after))};
  }

  Runs before_, after_;
  double change_;
  double samples_ = 0, time_ = 0;  // of a run, on average; of one before
};

bool is_more(const Reason& a, const Reason& b) { return std::abs(a.change) > std::abs(b.change); }

// The most specific that explains half of the change: of those that call each other the one in which least else happens.
std::optional<Reason> find_caller(const Search& search, Runs before, double change) {
  std::optional<Reason> best;
  double least = 0;
  for (const Reason& one : search.by(&Count::total)) {
    if (!one.sure || std::abs(one.change) < kExplained * std::abs(change)) continue;
    double total = 0;
    for (const FunctionSamples& run : before)
      if (const auto at = run.functions.find(one.function); at != run.functions.end()) total += at->second.total;
    if (!best || total < least) best = one, least = total;
  }
  return best;
}

}  // namespace

FunctionSamples count_functions(const profile::ProfileSnapshot& profile, double time) {
  const profile::FunctionTotals totals = profile::total_functions(profile, {.count_samples = true});
  FunctionSamples out;
  out.all = static_cast<double>(totals.total);
  out.time = time;
  for (const profile::FunctionCost& function : totals.rows) {
    Count& count = out.functions[std::string(totals.strings.text(function.name))];
    count.own += static_cast<double>(function.self);
    count.total += static_cast<double>(function.total);
  }
  return out;
}

std::vector<Reason> find_reasons(std::span<const FunctionSamples> before, std::span<const FunctionSamples> after, const Comparison& comparison) {
  const double change = comparison.time.ratio.value - 1;
  const Search search(before, after, change);
  const std::vector<Reason> own = search.by(&Count::own);
  std::vector<Reason> out;
  double explained = 0;
  for (const Reason& one : own) {
    if (!one.sure) continue;
    explained += one.change;
    out.push_back(one);
  }
  std::sort(out.begin(), out.end(), is_more);
  if (std::abs(explained) < kExplained * std::abs(change)) {
    if (auto caller = find_caller(search, before, change)) out.insert(out.begin(), *std::move(caller));
  }
  if (out.empty() && !own.empty()) {
    const Reason& guess = *std::max_element(own.begin(), own.end(), [](const Reason& a, const Reason& b) { return std::abs(a.change) * b.error < std::abs(b.change) * a.error; });
    if (std::abs(guess.change) > kLeastGuess * guess.error) out.push_back(guess);
  }
  out.resize(std::min(out.size(), kMaxReasons));
  return out;
}

std::string reason_text(const Reason& reason, std::string_view shown) {
  return fmt::format("{}{:+.1f} % (± {:.1f}) in {}{}", reason.sure ? "" : "perhaps ", 100 * reason.change, 100 * reason.error, shown, reason.with_callees ? " and what it calls" : "");
}

}  // namespace cicada::benchmark
