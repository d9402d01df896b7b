#include "app/controllers/order_files.h"

#include <cstddef>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace app {

namespace {

/// In the order in which SentFiles places them.
std::vector<std::string> input_files(Task task) {
  std::vector<std::string> paths;
  std::visit(
      [&](auto& order) {
        using Order = std::remove_cvref_t<decltype(order)>;
        engine::for_each_input_file(engine::kType<Order>, &order, [&](const std::string& path) {
          if (!path.empty()) paths.push_back(path);
        });
      },
      task);
  return paths;
}

}  // namespace

bool names_input_files(const Task& task) { return !input_files(task).empty(); }

OrderFiles::~OrderFiles() {
  cancel();
  if (question_progress_ != nullptr) question_progress_->stop = true;
}

SentFiles::Callbacks OrderFiles::callbacks(const std::shared_ptr<Progress>& progress) const {
  return {.progress =
              [progress, wake = wake_](const std::string& words, double fraction) {
                {
                  const std::lock_guard lock(progress->mutex);
                  // A frame per percent is enough.
                  if (words == progress->words && fraction - progress->fraction < 0.01) return;
                  progress->words = words;
                  progress->fraction = fraction;
                }
                wake();
              },
          .stop = [progress] { return progress->stop.load(); }};
}

std::uint64_t OrderFiles::place(std::uint64_t id, Task task, std::shared_ptr<SharedFiles> files) {
  const std::uint64_t replaced = cancel();
  id_ = id;
  progress_ = std::make_shared<Progress>();
  orders_.start([task = std::move(task), files = std::move(files),
                 callbacks = callbacks(progress_)]() mutable -> engine::Result<PlacedTask> {
    const std::vector<std::string> here = input_files(task);
    const engine::Status placed =
        files->with([&](SentFiles& sent) { return sent.place_all(task, callbacks); });
    if (!placed.ok()) return placed.error();
    const std::vector<std::string> there = input_files(task);
    PlacedTask made{.task = std::move(task), .names = {}};
    for (std::size_t i = 0; i < here.size(); ++i) made.names[there[i]] = here[i];
    return made;
  });
  return replaced;
}

void OrderFiles::place(FileQuestion question, std::shared_ptr<SharedFiles> files) {
  asked_ = question;
  if (question_progress_ != nullptr) question_progress_->stop = true;
  question_progress_ = std::make_shared<Progress>();
  questions_.start(
      [question = std::move(question), files = std::move(files),
       callbacks = callbacks(question_progress_)]() mutable -> engine::Result<FileQuestion> {
        engine::Result<std::string> there =
            files->with([&](SentFiles& sent) { return sent.place(question.path, callbacks); });
        if (!there.ok()) return there.error();
        question.path = std::move(there).value();
        if (question.routing) question.routing->path = question.path;
        return std::move(question);
      });
}

std::uint64_t OrderFiles::cancel() {
  if (progress_ != nullptr) progress_->stop = true;
  progress_.reset();
  orders_.drop();
  return std::exchange(id_, 0);
}

std::optional<OrderFiles::Placed> OrderFiles::take_order() {
  std::optional<engine::Result<PlacedTask>> made = orders_.take();
  if (!made) return std::nullopt;
  progress_.reset();
  const std::uint64_t id = std::exchange(id_, 0);
  if (!made->ok()) return Placed{.id = id, .task = made->error()};
  for (auto& [place, name] : made->value().names) names_[place] = name;
  return Placed{.id = id, .task = std::move(made->value().task)};
}

std::optional<engine::Result<FileQuestion>> OrderFiles::take_question() {
  std::optional<engine::Result<FileQuestion>> made = questions_.take();
  if (made && made->ok()) asked_place_ = made->value().path;
  return made;
}

void OrderFiles::name_as_here(LinkEvent& event) const {
  const auto rename = [this](auto& record) {
    using Record = std::remove_cvref_t<decltype(record)>;
    engine::for_each_input_file(engine::kType<Record>, &record, [this](std::string& path) {
      if (const auto named = names_.find(path); named != names_.end()) path = named->second;
    });
  };
  if (auto* run = std::get_if<RunDone>(&event)) rename(run->result);
  if (auto* preview = std::get_if<RunPreview>(&event)) rename(preview->result);
  if (auto* comparison = std::get_if<engine::RecipeComparison>(&event)) rename(*comparison);
  auto* report = std::get_if<FileReport>(&event);
  if (report == nullptr || report->listing) return;
  if (asked_place_.empty() || report->path != asked_place_) return;
  report->path = asked_.path;
  if (report->asked) report->asked->path = asked_.path;
}

std::string OrderFiles::words() const {
  if (progress_ == nullptr) return {};
  const std::lock_guard lock(progress_->mutex);
  return progress_->words.empty() ? "Sending files" : progress_->words;
}

double OrderFiles::fraction() const {
  if (progress_ == nullptr) return -1;
  const std::lock_guard lock(progress_->mutex);
  return progress_->fraction;
}

}  // namespace app
