// What each frame sees of input that came faster than frames.
#include "app/gui/shell/input_queue.h"

#include <GLFW/glfw3.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace app {
namespace {

using testing::ElementsAre;

/// "+A" a key down, "-A" up, "'a" text, "[" and "]" a button down and up, "@3" the cursor at x = 3,
/// "~" a turn of the wheel.
std::string text_of(const InputEvent& event) {
  struct Text {
    std::string operator()(const KeyInput& one) const {
      return (one.action == GLFW_RELEASE ? "-" : "+") +
             (one.key < 256 ? std::string(1, static_cast<char>(one.key)) : std::to_string(one.key));
    }
    std::string operator()(const CharInput& one) const {
      return std::string("'") + static_cast<char>(one.codepoint);
    }
    std::string operator()(const ButtonInput& one) const {
      return one.action == GLFW_RELEASE ? "]" : "[";
    }
    std::string operator()(const CursorInput& one) const {
      return "@" + std::to_string(static_cast<int>(one.x));
    }
    std::string operator()(const ScrollInput&) const { return "~"; }
  };
  return std::visit(Text{}, event);
}

std::vector<std::string> frames_of(InputQueue& queue) {
  std::vector<std::string> frames;
  while (!queue.empty()) {
    std::string frame;
    for (const InputEvent& event : queue.next_frame()) frame += text_of(event);
    frames.push_back(frame);
    if (frames.size() > 100) break;
  }
  return frames;
}

void tap(InputQueue& queue, int key, int modifiers = 0) {
  queue.push(KeyInput{.key = key, .action = GLFW_PRESS, .modifiers = modifiers});
  if (key < 256 && modifiers == 0) queue.push(CharInput{static_cast<unsigned>(key)});
  queue.push(KeyInput{.key = key, .action = GLFW_RELEASE, .modifiers = modifiers});
}

TEST(InputQueue, AShortTapIsSeenDownAndThenUp) {
  InputQueue queue;
  tap(queue, GLFW_KEY_ENTER);
  EXPECT_THAT(frames_of(queue), ElementsAre("+257", "-257"));
  queue.push(ButtonInput{.action = GLFW_PRESS});
  queue.push(ButtonInput{.action = GLFW_RELEASE});
  EXPECT_THAT(frames_of(queue), ElementsAre("[", "]"));
}

TEST(InputQueue, FastDigitsAllArriveInOrderWithTheKeysThatEdit) {
  InputQueue queue;
  for (const char digit : {'1', '1', '2'}) tap(queue, digit);
  EXPECT_THAT(frames_of(queue), ElementsAre("+1'1-1+1'1-1+2'2-2"));
  tap(queue, '5');
  tap(queue, GLFW_KEY_BACKSPACE);
  tap(queue, '4');
  tap(queue, GLFW_KEY_ENTER);
  EXPECT_THAT(frames_of(queue), ElementsAre("+5'5-5", "+259", "-259+4'4-4", "+257", "-257"));
}

TEST(InputQueue, AChordIsReadAsAWhole) {
  InputQueue queue;
  queue.push(KeyInput{.key = GLFW_KEY_LEFT_CONTROL, .action = GLFW_PRESS});
  tap(queue, 'A', GLFW_MOD_CONTROL);
  queue.push(KeyInput{.key = GLFW_KEY_LEFT_CONTROL, .action = GLFW_RELEASE});
  EXPECT_THAT(frames_of(queue), ElementsAre("+341+A", "-A-341"));
}

TEST(InputQueue, AClickHitsWhatWasUnderTheCursor) {
  InputQueue queue;
  queue.push(CursorInput{.x = 1});
  queue.push(CursorInput{.x = 2});
  queue.push(ButtonInput{.action = GLFW_PRESS});
  queue.push(CursorInput{.x = 3});
  queue.push(ButtonInput{.action = GLFW_RELEASE});
  queue.push(ScrollInput{.y = 1});
  EXPECT_THAT(frames_of(queue), ElementsAre("@2[", "@3]", "~"));
}

TEST(InputQueue, AHeldKeyLeavesNoBacklog) {
  InputQueue queue;
  const auto backspace = [&queue](int action) {
    queue.push(KeyInput{.key = GLFW_KEY_BACKSPACE, .action = action});
  };
  backspace(GLFW_PRESS);
  for (int i = 0; i < 10; ++i) backspace(GLFW_REPEAT);
  EXPECT_THAT(frames_of(queue), ElementsAre("+259"));
  for (int i = 0; i < 10; ++i) backspace(GLFW_REPEAT);
  backspace(GLFW_RELEASE);
  EXPECT_THAT(frames_of(queue), ElementsAre("+259", "-259"));
}

TEST(InputQueue, KeysWaitForWhatWasOpened) {
  InputQueue queue;
  tap(queue, 'x');
  queue.hold_keys(2);
  EXPECT_THAT(frames_of(queue), ElementsAre("", "", "+x'x-x"));
  // The mouse does not wait.
  queue.hold_keys(1);
  queue.push(CursorInput{.x = 4});
  tap(queue, 'y');
  EXPECT_THAT(frames_of(queue), ElementsAre("@4", "+y'y-y"));
}

TEST(ClickTimes, ASecondPressSoonAfterTheFirstIsADoubleClick) {
  ClickTimes clicks;
  EXPECT_FALSE(clicks.again(0, 9.9, 10.0));
  EXPECT_TRUE(clicks.again(0, 10.4, 10.45));
  EXPECT_FALSE(clicks.again(0, 11.0, 11.0));
  // Of another button, or after a pause.
  EXPECT_FALSE(clicks.again(1, 11.1, 11.1));
  EXPECT_FALSE(clicks.again(1, 11.7, 11.7));
}

TEST(ClickTimes, AFrameThatTookLongDoesNotPartTwoClicks) {
  ClickTimes clicks;
  EXPECT_FALSE(clicks.again(0, 19.0, 20.0));
  // Read 2 s later, but nothing had been read since 20.1 s.
  EXPECT_TRUE(clicks.again(0, 20.1, 22.0));
}

TEST(ClickTimes, AKeyBetweenTwoClicksSeparatesThem) {
  ClickTimes clicks;
  EXPECT_FALSE(clicks.again(0, 10.0, 10.0));
  clicks.take({.key = GLFW_KEY_0, .action = GLFW_PRESS});
  EXPECT_FALSE(clicks.again(0, 10.2, 10.2));
  // Not one that is released, or held for what the clicks mean.
  clicks.take({.key = GLFW_KEY_0, .action = GLFW_RELEASE});
  clicks.take({.key = GLFW_KEY_LEFT_SHIFT, .action = GLFW_PRESS});
  EXPECT_TRUE(clicks.again(0, 10.4, 10.4));
}

}  // namespace
}  // namespace app
