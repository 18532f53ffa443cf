// SPDX-License-Identifier: MIT
#include "tacit/core/tasks.h"

#include <pthread.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "tacit/core/error.h"

namespace tacit {
namespace {

class ThreadMonitor final : public Monitor {
 public:
  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }
  void wait() override { changed_.wait(mutex_); }
  bool wait_until(Deadline deadline) override {
    return changed_.wait_until(mutex_, RealClock::point(deadline)) == std::cv_status::no_timeout;
  }
  void notify_all() override { changed_.notify_all(); }

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
};

class ThreadTask final : public Task {
 public:
  ThreadTask(const std::string& name, std::function<void()> body)
      : thread_([this, name, body = std::move(body)] {
          // Linux keeps 15 characters of a thread's name; debuggers and `top -H` show them.
          pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
          try {
            body();
          } catch (...) {
            error_ = std::current_exception();
          }
        }) {}

  void join() override {
    if (thread_.joinable()) thread_.join();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  std::exception_ptr error_;  // written by the thread, read after join
  std::jthread thread_;       // last: it must end before error_ goes away
};

}  // namespace

std::unique_ptr<Task> ThreadTasks::spawn(const std::string& name, std::function<void()> body) {
  try {
    return std::make_unique<ThreadTask>(name, std::move(body));
  } catch (const std::system_error& error) {
    throw InvalidConfig("the thread " + name + " could not be started (" + error.what() +
                        "); allow the process more threads and memory");
  }
}

std::unique_ptr<Monitor> ThreadTasks::make_monitor() { return std::make_unique<ThreadMonitor>(); }

}  // namespace tacit
