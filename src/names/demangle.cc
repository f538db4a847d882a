// SPDX-License-Identifier: Apache-2.0
// Three dangers of demangling names that strangers chose, and what is done about each:
//  - output that doubles with every back reference: the C++ and Rust readers print through a callback and hold no memory, so
//    the callback leaves by longjmp once the output is too long. The D reader builds strings with xrealloc, so cicada brings
//    its own xmalloc family (libiberty's would also exit(1) when memory is short) and leaves from there;
//  - recursion: libiberty refuses names above 1,024 bytes, which hides ordinary C++ templates. Without that limit a name takes
//    90-110 bytes of stack for each of its own (measured: 1.8 MB for 20,000), so long ones get a thread with a large stack;
//  - length: above kMaxMangledBytes nothing is attempted.
#include "names/demangle.h"

#include <pthread.h>
#include <setjmp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#define HAVE_DECL_BASENAME 1  // libiberty.h would declare it again, differently
#include <libiberty/demangle.h>

namespace cicada::names {
namespace {

constexpr size_t kOwnStackBytes = 4000;            // longer names are read on the large stack
constexpr size_t kLargeStackBytes = 64 << 20;
constexpr size_t kMaxAllocationBytes = 4 << 20;    // in one D name
constexpr unsigned kMaxAbandonedNames = 64;        // their memory cannot be given back, so D is switched off after these

struct Attempt {
  jmp_buf abandon;
  std::string* out = nullptr;
  bool counts_allocations = false;
  size_t allocated_bytes = 0;
  std::vector<void*> blocks;
};
thread_local Attempt* t_attempt = nullptr;

std::atomic<unsigned> g_abandoned_names{0};

// Keeps what an abandoned D name had allocated reachable, for leak checkers. Never read.
void keep_forever(std::vector<void*> blocks) {
  static std::mutex mutex;
  static auto* kept = new std::vector<std::vector<void*>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(blocks));
}

void append_piece(const char* text, size_t size, void* opaque) {
  auto* attempt = static_cast<Attempt*>(opaque);
  if (attempt->out->size() + size > kMaxNameBytes) longjmp(attempt->abandon, 1);
  attempt->out->append(text, size);
}

void count_allocation(size_t bytes) {
  Attempt* attempt = t_attempt;
  if (attempt == nullptr || !attempt->counts_allocations) return;
  attempt->allocated_bytes += bytes + 32;
  if (attempt->allocated_bytes > kMaxAllocationBytes) longjmp(attempt->abandon, 1);
}

void* checked(void* block) {
  if (block == nullptr) {
    if (t_attempt != nullptr && t_attempt->counts_allocations) longjmp(t_attempt->abandon, 1);
    std::abort();
  }
  if (t_attempt != nullptr && t_attempt->counts_allocations) t_attempt->blocks.push_back(block);
  return block;
}

enum class Language { kNone, kCpp, kRust, kD };

Language language_of(std::string_view name) {
  if (name.starts_with("_Z") || name.starts_with("__Z")) return Language::kCpp;
  if (name.starts_with("_R") || name.starts_with("__R")) return Language::kRust;
  if (name.starts_with("_D") && name.size() > 2 && (name == "_Dmain" || (name[2] >= '0' && name[2] <= '9'))) return Language::kD;
  return Language::kNone;
}

struct Job {
  const char* mangled;
  Language language;
  Demangle style;
  bool may_be_rust;
  std::string out;
  bool done = false;
};

// No object with a destructor may live in this frame: longjmp comes back into it.
void attempt_demangle(Job& job, Attempt& attempt) {
  // In C++ the limit is one on length, in Rust and D on depth: without it a Rust back reference to itself recurses for ever.
  const int options = DMGL_ANSI | (job.style == Demangle::kFull ? DMGL_PARAMS : 0);
  if (setjmp(attempt.abandon) != 0) return;
  switch (job.language) {
    case Language::kRust:
      job.done = rust_demangle_callback(job.mangled, options, append_piece, &attempt) != 0;
      break;
    case Language::kCpp:
      // Legacy Rust looks like C++ with a hash as its last part.
      if (job.may_be_rust) job.done = rust_demangle_callback(job.mangled, options, append_piece, &attempt) != 0;
      if (job.done) break;
      job.out.clear();
      job.done = cplus_demangle_v3_callback(job.mangled, options | DMGL_NO_RECURSE_LIMIT, append_piece, &attempt) != 0;
      break;
    case Language::kD: {
      attempt.counts_allocations = true;
      char* text = dlang_demangle(job.mangled, options);
      attempt.counts_allocations = false;
      if (text != nullptr) {
        job.out.assign(text);
        job.done = true;
        std::free(text);
      }
      break;
    }
    case Language::kNone: break;
  }
}

void run(Job& job) {
  if (job.language == Language::kD && g_abandoned_names >= kMaxAbandonedNames) return;
  Attempt attempt;
  attempt.out = &job.out;
  t_attempt = &attempt;
  attempt_demangle(job, attempt);
  t_attempt = nullptr;
  if (attempt.counts_allocations) {  // left in the middle
    ++g_abandoned_names;
    keep_forever(std::move(attempt.blocks));
  }
  if (job.out.size() > kMaxNameBytes) job.done = false;
}

void run_on_large_stack(Job& job) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_t thread{};
  const bool started = pthread_attr_setstacksize(&attributes, kLargeStackBytes) == 0 &&
                       pthread_create(&thread, &attributes, [](void* argument) -> void* {
                         run(*static_cast<Job*>(argument));
                         return nullptr;
                       }, &job) == 0;
  pthread_attr_destroy(&attributes);
  if (started) pthread_join(thread, nullptr);
}

bool is_operator_at(std::string_view name, size_t position) {
  constexpr std::string_view kWord = "operator";
  return position >= kWord.size() && name.substr(position - kWord.size(), kWord.size()) == kWord;
}

// Removes template arguments: "std::map<int, A<B> >::find" -> "std::map::find". "operator<", "operator->", "<lambda…>" and
// Rust's "<T as Trait>" at a name's beginning are names, not arguments.
std::string without_template_arguments(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size();) {
    if (is_operator_at(name, i) && (name[i] == '<' || name[i] == '-' || name[i] == '>')) {
      while (i < name.size() && (name[i] == '<' || name[i] == '>' || name[i] == '-' || name[i] == '=')) {
        // "operator< <int>" has a space before its arguments, "operator-><int>" has none
        if (name[i] == '<' && !out.empty() && out.ends_with("->")) break;
        out += name[i++];
      }
      continue;
    }
    if (name[i] == '<' && i > 0 && (out.ends_with(' ') ? is_operator_at(name, i) || out.size() < 2 : !out.ends_with(':'))) {
      size_t depth = 0;
      size_t end = i;
      for (; end < name.size(); ++end) {
        if (name[end] == '<') ++depth;
        if (name[end] == '>' && name[end - 1] != '-' && --depth == 0) break;
      }
      if (end == name.size()) break;  // unbalanced: leave the rest
      i = end + 1;
      continue;
    }
    out += name[i++];
  }
  return out.empty() ? std::string(name) : out;
}

// What compilers since GCC 14 and clang 18 write of C++20's constraints is unknown to libiberty. A concept before a template parameter's argument,
// "Tk5Small", is nothing that a later part of the name refers to: it can go.
std::string without_concepts(std::string name) {
  for (size_t at = 0; (at = name.find("Tk", at)) != std::string::npos;) {
    size_t end = at + 2;
    const bool nested = name.compare(end, 2, "NS") == 0;  // in a namespace that the name has had already: NS_, NS0_, …
    if (nested) end = name.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", end + 2);
    else if (name.compare(end, 2, "St") == 0) end += 2;
    if (nested && (end == std::string::npos || name[end++] != '_')) {
      at += 2;
      continue;
    }
    size_t length = 0;
    for (; end < name.size() && name[end] >= '0' && name[end] <= '9' && length <= name.size(); ++end) length = 10 * length + static_cast<size_t>(name[end] - '0');
    end += length;
    const bool closed = end <= name.size() && (nested ? name.compare(end++, 1, "E") == 0 : name.compare(end, 1, "I") != 0);  // not with arguments of its own
    if (length == 0 || !closed) at += 2;
    else name.erase(at, end - at);
  }
  return name;
}

bool is_digits(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

// Nothing: not a name of that language.
std::optional<std::string> read_name(const std::string& mangled, Language language, Demangle style) {
  Job job{mangled.c_str() + (mangled.starts_with("__") ? 1 : 0), language, style, mangled.find("17h") != std::string::npos, {}};
  job.out.reserve(mangled.size() * 2);
  if (mangled.size() > kOwnStackBytes) run_on_large_stack(job);
  else run(job);
  return job.done && !job.out.empty() ? std::optional(std::move(job.out)) : std::nullopt;
}

// The name without its constraints, or up to the first of them, "f<int>…": later parts may refer to what is in it.
std::optional<std::string> read_constrained(const std::string& mangled, Demangle style) {
  constexpr size_t kMostOpen = 6, kMostTried = 64 << 10;  // bytes
  if (mangled.size() > kOwnStackBytes) return std::nullopt;
  const std::string plain = without_concepts(mangled);
  if (auto name = read_name(plain, Language::kCpp, style)) return name;
  // Without parameters libiberty takes no notice of what is left over.
  size_t tried = 0;
  const auto is_whole = [&](const std::string& part) {
    tried += part.size();
    return read_name(part, Language::kCpp, Demangle::kFull).has_value();
  };
  for (size_t at = 0; tried < kMostTried && (at = plain.find_first_of("QT", at)) != std::string::npos; ++at) {
    if (plain[at] == 'T' && plain.compare(at, 2, "Tk") != 0) continue;
    const size_t begin = std::min(at, plain.find_first_not_of('Z', 1));  // what is within a function's braces: the function
    std::string part = "_Z" + plain.substr(begin, at - begin);
    if (part.ends_with('I')) part.pop_back();
    size_t open = 0;
    for (std::string whole = part; open <= kMostOpen && !is_whole(whole); ++open) whole += 'E';
    if (open > kMostOpen) continue;
    bool in_word = false;  // which takes what is appended for a part of it
    for (size_t more = 0; more <= open && !in_word; ++more) in_word = is_whole(part + '$' + std::string(more, 'E'));
    if (in_word) continue;
    auto name = read_name(part + std::string(open, 'E'), Language::kCpp, style);
    if (name && (open != 0 || plain[at] == 'T') && style == Demangle::kFull) *name += "\xe2\x80\xa6";
    return name;
  }
  return std::nullopt;
}

}  // namespace

std::string demangle(std::string_view linkage_name, Demangle style) {
  const Language language = language_of(linkage_name);
  if (style == Demangle::kNone || language == Language::kNone || linkage_name.size() > kMaxMangledBytes) {
    return std::string(linkage_name.substr(0, kMaxNameBytes));
  }
  const std::string mangled(linkage_name);
  std::optional<std::string> name = read_name(mangled, language, style);
  if (!name && language == Language::kCpp) name = read_constrained(mangled, style);
  if (!name) return mangled;
  return style == Demangle::kShort ? without_template_arguments(*name) : *std::move(name);
}

bool looks_mangled(std::string_view linkage_name) { return language_of(linkage_name) != Language::kNone; }

std::string_view fold_clone(std::string_view linkage_name) {
  constexpr std::array<std::string_view, 8> kBare{"cold", "part", "constprop", "isra", "lto_priv", "localalias", "warm", "hot"};
  for (;;) {
    const size_t dot = linkage_name.rfind('.');
    if (dot == std::string_view::npos || dot == 0) return linkage_name;
    const std::string_view last = linkage_name.substr(dot + 1);
    bool known = false;
    for (const std::string_view word : kBare) known = known || last == word;
    if (!known && is_digits(last)) {
      const size_t before = linkage_name.rfind('.', dot - 1);
      if (before == std::string_view::npos || before == 0) return linkage_name;
      const std::string_view word = linkage_name.substr(before + 1, dot - before - 1);
      for (const std::string_view bare : kBare) known = known || word == bare;
      known = known || word == "llvm" || word == "resolver" || word == "__uniq" || word == "clone";
      if (!known) return linkage_name;
      linkage_name = linkage_name.substr(0, before);
      continue;
    }
    if (!known) return linkage_name;
    linkage_name = linkage_name.substr(0, dot);
  }
}

std::string_view strip_version(std::string_view name) {
  const size_t at = name.find('@');
  return at == std::string_view::npos || at == 0 ? name : name.substr(0, at);
}

}  // namespace cicada::names

extern "C" {

void* xmalloc(size_t bytes) {
  cicada::names::count_allocation(bytes);
  return cicada::names::checked(std::malloc(bytes == 0 ? 1 : bytes));
}

void* xcalloc(size_t count, size_t bytes) {
  cicada::names::count_allocation(count * bytes);
  return cicada::names::checked(std::calloc(count == 0 ? 1 : count, bytes == 0 ? 1 : bytes));
}

void* xrealloc(void* block, size_t bytes) {
  cicada::names::count_allocation(bytes);
  return cicada::names::checked(block == nullptr ? std::malloc(bytes == 0 ? 1 : bytes) : std::realloc(block, bytes == 0 ? 1 : bytes));
}

void xmalloc_failed(size_t) { std::abort(); }
void xmalloc_set_program_name(const char*) {}

}  // extern "C"
