// SPDX-License-Identifier: Apache-2.0
#include "symbolize/files/debuginfod_client.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <thread>

namespace cicada::symbolize {

struct DebuginfodClient::Library {
  using Client = void;
  using Progress = int (*)(Client*, long, long);
  void* handle = nullptr;
  Client* (*begin)() = nullptr;
  int (*find)(Client*, const unsigned char*, int, char**) = nullptr;
  void (*set_progress)(Client*, Progress) = nullptr;
  void (*end)(Client*) = nullptr;
  std::mutex mutex;

  template <typename Fn>
  bool load(Fn& function, const char* name) {
    function = reinterpret_cast<Fn>(::dlsym(handle, name));
    return function != nullptr;
  }
};

namespace {
// libdebuginfod hands its client to the progress function but has no way to keep a deadline in it that 0.188 and later agree on.
thread_local std::chrono::steady_clock::time_point t_deadline;
thread_local std::stop_token t_stop;
constexpr std::chrono::milliseconds kLook(20);
}  // namespace

DebuginfodClient::DebuginfodClient(std::chrono::milliseconds limit) : library_(std::make_unique<Library>()), deadline_(std::chrono::steady_clock::now() + limit) {
  Library& library = *library_;
  // Never unloaded: libcurl and what it brings (TLS, LDAP, Kerberos) keep global state that nobody frees, and each load would leak it again.
  library.handle = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library.handle == nullptr) return;
  const bool complete = library.load(library.begin, "debuginfod_begin") && library.load(library.find, "debuginfod_find_debuginfo") &&
                        library.load(library.set_progress, "debuginfod_set_progressfn") && library.load(library.end, "debuginfod_end");
  if (!complete) library.handle = nullptr;
}

DebuginfodClient::~DebuginfodClient() = default;

bool DebuginfodClient::named_by_environment() {
  const char* urls = ::getenv("DEBUGINFOD_URLS");
  return urls != nullptr && *urls != 0;
}

Result<UniqueFd> DebuginfodClient::find_debug_file(const std::string& build_id, const std::stop_token& stop) {
  if (library_->handle == nullptr) return make_error(ErrorKind::kUnsupported, "debuginfod: libdebuginfod.so.1 is missing; install libdebuginfod1");
  if (!named_by_environment()) return make_error(ErrorKind::kUnsupported, "debuginfod: DEBUGINFOD_URLS names no server");
  const auto too_late = [&] {
    return stop.stop_requested() ? make_error(ErrorKind::kNotFound, "debuginfod: build-id {} was not waited for", build_id)
                                 : make_error(ErrorKind::kLimit, "debuginfod: the servers took too long; debug files stay missing (DEBUGINFOD_URLS= asks nobody)");
  };
  const auto is_late = [&] { return stop.stop_requested() || std::chrono::steady_clock::now() >= deadline_; };
  std::unique_lock lock(library_->mutex, std::defer_lock);
  while (!is_late() && !lock.try_lock()) std::this_thread::sleep_for(kLook);
  if (is_late()) return too_late();
  void* client = library_->begin();
  if (client == nullptr) return make_error(ErrorKind::kIo, "debuginfod: cannot start a client");
  t_deadline = deadline_;
  t_stop = stop;
  library_->set_progress(client, [](void*, long, long) { return t_stop.stop_requested() || std::chrono::steady_clock::now() >= t_deadline ? 1 : 0; });
  char* path = nullptr;
  const int got = library_->find(client, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &path);
  std::free(path);
  library_->end(client);
  if (got >= 0) return UniqueFd(got);
  if (is_late()) return too_late();
  return errno_error(-got, "debuginfod: build-id " + build_id);
}

}  // namespace cicada::symbolize
