// What a machine is said to have from earlier connections.
#include "app/remote/found_worker.h"

#include <gtest/gtest.h>

namespace app {
namespace {

const std::string kOwn(64, 'a');
const std::string kOther(64, 'b');

TEST(FoundWorker, NoneOursAndOthers) {
  MachineFacts machine;
  machine.bundles = {"mine"};
  EXPECT_EQ(found_worker_words(machine, kOwn), "no worker yet") << "it is no bundle's name";
  machine.bundles = {kOther};
  EXPECT_EQ(found_worker_words(machine, kOwn), "worker: another build, bbbbbbbb");
  machine.in_use = {kOther};
  EXPECT_EQ(found_worker_words(machine, kOwn), "worker: another build, bbbbbbbb (running)");
  machine.bundles = {kOwn, kOther};
  machine.has_bundle = true;
  EXPECT_EQ(found_worker_words(machine, kOwn),
            "worker: the same build; another build, bbbbbbbb (running)");
  machine.bundles = {kOwn};
  machine.in_use = {kOwn};
  EXPECT_EQ(found_worker_words(machine, kOwn), "worker: the same build, running");
  machine.has_bundle = false;
  EXPECT_EQ(found_worker_words(machine, kOwn), "worker: this build, damaged");
}

}  // namespace
}  // namespace app
