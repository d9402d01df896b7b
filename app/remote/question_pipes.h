// Where expertscope-askpass, which ssh starts, passes a question on to this program and waits for
// the answer: two FIFOs in a private folder, because ssh closes every other descriptor before it
// starts its askpass program.
#pragma once

#include <optional>
#include <string>

#include "app/remote/ssh_connection.h"
#include "engine/model/unique_fd.h"

namespace app {

/// Names the folder in the environment of expertscope-askpass.
inline constexpr const char* kQuestionFolder = "EXPERTSCOPE_QUESTIONS";
/// One of the two letters, the text, a zero byte.
inline constexpr const char* kQuestionPipe = "question";
inline constexpr char kAsks = 'q';
/// Only to be shown, until one without a text says that it is over.
inline constexpr char kShows = 's';
inline constexpr const char* kAnswerPipe = "answer";  // 'y', the answer, a zero byte; or 'n'
inline constexpr char kAnswered = 'y';
inline constexpr char kNoAnswer = 'n';

class QuestionPipes {
 public:
  /// Makes the FIFOs in `folder`, which must be private to this user.
  static engine::Result<QuestionPipes> make(const std::string& folder);

  /// A complete question that has arrived; a Notice gets no answer. Never waits.
  std::optional<ConnectQuestion> next();
  /// The answer's memory is overwritten after it is sent.
  void answer(std::optional<std::string> text);

 private:
  engine::UniqueFd questions_;
  engine::UniqueFd answers_;
  std::string text_;
};

}  // namespace app
