#include "engine/model/guarded_thread.h"

#include <stdexcept>
#include <system_error>
#include <utility>

namespace engine {

Error caught_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {ErrorCode::OutOfMemory,
            "there is not enough memory for it on this machine: free some, or ask for less"};
  } catch (const std::length_error& thrown) {
    // The standard library's words name the container: what asked for it can be found by them.
    return {ErrorCode::OutOfMemory, std::string("it is larger than any memory could hold (") +
                                        thrown.what() + "): ask for less"};
  } catch (const std::exception& thrown) {
    return {ErrorCode::Internal, thrown.what()};
  } catch (...) {
    return {ErrorCode::Internal, "an exception of an unknown type"};
  }
}

GuardedThread::GuardedThread(std::function<void()> work, std::function<void(const Error&)> failed) {
  try {
    thread_ = std::thread([work = std::move(work), failed]() mutable {
      try {
        work();
      } catch (...) {
        failed(caught_error());
      }
      // Destroys the work here too: its captures may be large or slow to destroy.
      work = nullptr;
    });
  } catch (const std::system_error& none) {
    failed({ErrorCode::Internal, std::string("no thread could be started: ") + none.what()});
  }
}

GuardedThread& GuardedThread::operator=(GuardedThread&& other) noexcept {
  join();
  thread_ = std::move(other.thread_);
  return *this;
}

void GuardedThread::join() {
  if (thread_.joinable()) thread_.join();
}

}  // namespace engine
