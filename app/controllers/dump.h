// A dump of one step: tensors of one file, or .npy files of one folder, whose names say which
// operand each of them is and which are the rows per expert. A worker reads their headers; then all
// of them are taken at once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/controllers/request_operand.h"
#include "app/protocol/worker_link.h"
#include "engine/input/tensor_source.h"
#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace app {

struct DumpPart {
  std::optional<RequestOperand> operand;  // none = the routing
  std::string path;
  std::string tensor;  // in the file; empty for .npy
  bool operator==(const DumpPart&) const = default;
};

/// The parts that the names of a file's tensors say, the routing first; empty where there are fewer
/// than two. A name that fits two operands, or two tensors for one operand, say nothing.
std::vector<DumpPart> dump_of_tensors(const std::string& path,
                                      const std::vector<engine::TensorEntry>& tensors);
/// The same of a folder with x.npy, w.npy and so on. A name that leads out of the folder says
/// nothing.
std::vector<DumpPart> dump_of_folder(const std::string& folder,
                                     const std::vector<std::string>& names);
/// What the names in a file say, or those of the files beside it if it is one of them.
std::vector<DumpPart> dump_of(const FileReport& report);
/// The parts that a step has a place for: a down projection's weights only in an expert layer.
std::vector<DumpPart> parts_for(std::vector<DumpPart> parts, const engine::RunRequest& request);
/// Whether the request already takes each of them.
bool uses_all(const engine::RunRequest& request, const std::vector<DumpPart>& parts);
/// "X, W, dY, splits"
std::string dump_words(const std::vector<DumpPart>& parts);

/// Asks the worker for the headers of a dump, one after another, and makes one request of them.
class DumpReading {
 public:
  explicit DumpReading(std::vector<DumpPart> parts) : parts_(std::move(parts)) {}

  const std::vector<DumpPart>& parts() const { return parts_; }
  /// The next question; none = all are answered.
  std::optional<FileQuestion> next() const;
  /// Whether it was the answer to the next question.
  bool take(const FileReport& report);
  /// `request` with every operand, the routing and the sizes of the dump. The error names the
  /// tensor that does not fit.
  engine::Result<engine::RunRequest> fitted(engine::RunRequest request) const;

 private:
  /// What would have to change for a part to fit the request; empty = it fits.
  std::string misfit(engine::RunRequest request, std::size_t part) const;

  std::vector<DumpPart> parts_;
  std::vector<FileReport> reports_;  // of the first parts
};

}  // namespace app
