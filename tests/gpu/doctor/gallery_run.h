// Runs one program of the gallery through experiments in the test's own process: only for programs
// and experiments that do not hang.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/device/device_facts.h"
#include "engine/device/handles.h"
#include "profiling/hazards/gallery/gallery.h"
#include "profiling/hazards/model/gallery_catalogue.h"
#include "profiling/hazards/proofs/experiment_run.h"

namespace profiling {

class GalleryRun : public ::testing::Test {
 protected:
  void SetUp() override;

  /// Checksums of three equal eager launches; empty after a failure, which is reported.
  std::vector<std::uint64_t> eager_checksums(const std::string& id, bool healthy);
  engine::Result<ExperimentReply> run(const std::string& id, bool healthy,
                                      const Experiment& experiment);
  /// NotRun if the experiment could not be run, which is reported.
  Verdict verdict(const std::string& id, bool healthy, const Experiment& experiment);
  /// Snapshot of the plain program.
  Snapshot snapshot(const std::string& id, bool healthy);
  cudaStream_t stream() const { return stream_.get(); }

 private:
  engine::FoundDevice device_;
  engine::Stream stream_;
  engine::RunProgress progress_;
  LiveBoard board_;
};

}  // namespace profiling
