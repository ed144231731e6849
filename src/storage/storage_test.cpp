// Storage: local files and their twin in memory obey one contract; names, patterns and errors.
#include "storage/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/error_message.h"
#include "storage/local_writer.h"

namespace bertrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::vector<std::string> names_of(const std::vector<Object>& objects) {
  std::vector<std::string> names;
  for (const Object& o : objects) names.push_back(o.uri);
  return names;
}

// An empty folder for each test, and the same name in memory.
class StorageTest : public testing::TestWithParam<bool> {
 protected:
  StorageTest() {
    char name[] = "/tmp/bertrain-storage-XXXXXX";
    folder_ = ::mkdtemp(name);
    root_ = GetParam() ? folder_ : "mem:/" + folder_;
  }
  ~StorageTest() override { std::filesystem::remove_all(folder_); }

  std::string at(const std::string& name) const { return root_ + "/" + name; }

  std::string folder_, root_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, StorageTest, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "local" : "memory"; });

TEST_P(StorageTest, AppearsOnlyWhenCommitted) {
  Storage& storage = storage_for(root_);
  {
    auto discarded = storage.create(at("a/b"), Exists::replace);
    discarded->append(bytes_of("lost"));
  }
  EXPECT_FALSE(storage.size(at("a/b")));
  auto writer = storage.create(at("a/b"), Exists::replace);
  writer->append(bytes_of("he"));
  writer->append(bytes_of("llo"));
  EXPECT_FALSE(storage.size(at("a/b")));
  EXPECT_TRUE(storage.list(root_).empty());
  writer->commit();
  EXPECT_EQ(storage.size(at("a/b")), 5u);
  EXPECT_EQ(read_text(at("a/b")), "hello");
}

TEST_P(StorageTest, OfTwoThatMustBeFirstOneLoses) {
  Storage& storage = storage_for(root_);
  auto first = storage.create(at("lock"), Exists::fail);
  auto second = storage.create(at("lock"), Exists::fail);
  first->append(bytes_of("first"));
  second->append(bytes_of("second"));
  second->commit();
  EXPECT_THAT(message_of([&] { first->commit(); }), HasSubstr("lock: exists already"));
  EXPECT_THAT(message_of([&] { storage.create(at("lock"), Exists::fail); }),
              HasSubstr("exists already"));
  EXPECT_EQ(read_text(at("lock")), "second");
  write_text(at("lock"), "third");
  EXPECT_EQ(read_text(at("lock")), "third");
}

TEST_P(StorageTest, ReadsRangesAndRefusesWhatIsNotThere) {
  write_text(at("x"), "0123456789");
  Storage& storage = storage_for(root_);
  std::string part(3, ' ');
  storage.read(at("x"), 4, std::as_writable_bytes(std::span(part)));
  EXPECT_EQ(part, "456");
  EXPECT_THAT(
      message_of([&] { storage.read(at("x"), 8, std::as_writable_bytes(std::span(part))); }),
      HasSubstr("3 bytes expected at offset 8, 2 found"));
  EXPECT_NE(message_of([&] { storage.read(at("y"), 0, std::as_writable_bytes(std::span(part))); }),
            "");
}

TEST_P(StorageTest, ListsByPrefixAtAnyDepthAndRemoves) {
  for (const char* name : {"run/b", "run/a/c", "run/a/b/c", "runner", "other"}) {
    write_text(at(name), name);
  }
  Storage& storage = storage_for(root_);
  EXPECT_THAT(names_of(storage.list(at("run"))),
              ElementsAre(at("run/a/b/c"), at("run/a/c"), at("run/b"), at("runner")));
  EXPECT_THAT(names_of(storage.list(at("run/a/"))), ElementsAre(at("run/a/b/c"), at("run/a/c")));
  EXPECT_THAT(names_of(storage.list(at("run/a/b/c"))), ElementsAre(at("run/a/b/c")));
  EXPECT_TRUE(storage.list(at("absent/x")).empty());
  storage.remove(at("run/b"));
  storage.remove(at("run/b"));
  EXPECT_FALSE(storage.size(at("run/b")));
}

TEST_P(StorageTest, PatternsAreSortedByPartAndNeverEmpty) {
  for (const char* name : {"b1", "b0", "a", "c[x]", "with,comma", "deep/b2"})
    write_text(at(name), "x");
  EXPECT_THAT(expand_globs(at("b*") + "," + at("a")), ElementsAre(at("b0"), at("b1"), at("a")));
  EXPECT_THAT(expand_globs(at("b[1-9]")), ElementsAre(at("b1")));
  EXPECT_THAT(expand_globs(at("c[x]")), ElementsAre(at("c[x]")));
  EXPECT_THAT(expand_globs(at("with,comma")), ElementsAre(at("with,comma")));
  EXPECT_THAT(message_of([&] { expand_globs(at("none*")); }),
              HasSubstr("no file matches '" + at("none*") + "'"));
  EXPECT_THAT(message_of([&] { expand_globs(at("a") + "," + at("none")); }),
              HasSubstr("none: no such file"));
  EXPECT_THAT(message_of([&] { expand_globs(at("a") + ","); }),
              HasSubstr("missing beside a comma"));
}

TEST(storage, FileNamesThatWouldBeRead) {
  EXPECT_THAT(expand_globs("-"), ElementsAre("-"));
  EXPECT_THAT(message_of([] { expand_globs("/tmp"); }), HasSubstr("/tmp: is a directory"));
  EXPECT_THAT(message_of([] { expand_globs(""); }), HasSubstr("file name is expected"));
  EXPECT_THAT(message_of([] { read_text("/tmp"); }), HasSubstr("is a directory"));
  EXPECT_THAT(message_of([] { read_text("/nowhere/x"); }), HasSubstr("/nowhere/x: No such file"));
  EXPECT_THAT(message_of([] { storage_for("gs://bucket/x"); }),
              HasSubstr("gs://bucket/x: this build does not support buckets"));
  EXPECT_THAT(message_of([] { expand_globs("/dev/null,gs://bucket/x"); }),
              HasSubstr("gs://bucket/x: this build does not support buckets"));
  EXPECT_THAT(message_of([] { storage_for("ftp://x"); }), HasSubstr("ftp://"));
}

TEST(storage, KnowsAFileByAnyOfItsNames) {
  namespace fs = std::filesystem;
  std::string folder = testing::TempDir() + "/same" + std::to_string(getpid());
  fs::create_directories(folder);
  std::string file = folder + "/a";
  std::ofstream(file) << "text";
  std::error_code none;
  fs::create_symlink("a", folder + "/symbolic", none);
  fs::create_hard_link(file, folder + "/hard", none);
  std::ofstream(folder + "/b") << "text";
  for (std::string name : {"/a", "/./a", "/symbolic", "/hard", "/none/../a"}) {
    EXPECT_TRUE(same_object(file, folder + name)) << name;
    EXPECT_THAT(
        message_of([&] { refuse_overwriting(folder + name, std::vector{file}, "--out_file=a"); }),
        HasSubstr("--out_file=a: is input and output at once, as it is the file " + file));
  }
  EXPECT_FALSE(same_object(file, folder + "/b"));
  EXPECT_TRUE(same_object(folder + "/new", folder + "/./new"));
  EXPECT_FALSE(same_object(folder + "/new", folder + "/newer"));
  EXPECT_TRUE(same_object("not-there", "./not-there"));
  EXPECT_FALSE(same_object("mem://a", "mem://b"));
  refuse_overwriting("-", std::vector<std::string>{"-"}, "it");
  refuse_overwriting("/dev/null", std::vector<std::string>{"/dev/null"}, "it");
  refuse_overwriting(folder + "/b", std::vector<std::string>{"", "-", file}, "it");
  fs::remove_all(folder);
}

TEST(storage, JoinsPaths) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(without_slashes("a/b//"), "a/b");
  EXPECT_EQ(without_slashes("/"), "/");
  EXPECT_EQ(without_slashes("mem://"), "mem://");
  EXPECT_EQ(without_slashes(""), "");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("mem://a", "b"), "mem://a/b");
}

class LocalFiles : public testing::Test {
 protected:
  LocalFiles() {
    char name[] = "/tmp/bertrain-local-XXXXXX";
    folder_ = ::mkdtemp(name);
  }
  ~LocalFiles() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST_F(LocalFiles, LeftoversOfTheDeadAreRemovedAndTheLivingKept) {
  std::ofstream(folder_ + "/.model.123-1.partial") << "half";
  ASSERT_TRUE(is_partial_name(".model.123-1.partial"));
  auto living = storage_for(folder_).create(folder_ + "/x", Exists::replace);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/.model.123-1.partial"));
  write_text(folder_ + "/y", "y");
  living->append(bytes_of("x"));
  living->commit();
  EXPECT_EQ(read_text(folder_ + "/x"), "x");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(LocalFiles, ALinkStaysAndItsTargetIsReplaced) {
  write_text(folder_ + "/target", "old");
  std::filesystem::create_symlink("target", folder_ + "/link");
  write_text(folder_ + "/link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ + "/link"));
  EXPECT_EQ(read_text(folder_ + "/target"), "new");
}

TEST_F(LocalFiles, DevicesAreWrittenInPlace) {
  write_text("/dev/null", "gone");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  EXPECT_THAT(message_of([] { write_text("/dev/full", "x"); }),
              testing::AllOf(HasSubstr("/dev/full"), HasSubstr("No space left on device"),
                             HasSubstr("at least 1 bytes are needed")));
}

TEST_F(LocalFiles, WhatIsReadOnlyOnce) {
  write_text(folder_ + "/file", "x");
  ASSERT_EQ(::mkfifo((folder_ + "/pipe").c_str(), 0600), 0);
  for (const std::string& name : {std::string("-"), folder_ + "/pipe", std::string("/dev/null")}) {
    EXPECT_TRUE(is_read_once(name)) << name;
  }
  for (const std::string& name : {folder_ + "/file", folder_, folder_ + "/absent"}) {
    EXPECT_FALSE(is_read_once(name)) << name;
  }
  EXPECT_FALSE(is_read_once("mem://x"));
}

TEST_F(LocalFiles, WhereNothingCanBeWritten) {
  write_text(folder_ + "/file", "x");
  EXPECT_THAT(message_of([&] { write_text(folder_ + "/file/below", "x"); }),
              HasSubstr("not a directory"));
  EXPECT_THAT(message_of([&] { write_text(folder_, "x"); }), HasSubstr("is a directory"));
  EXPECT_THAT(message_of([] { write_text("/proc/absent/x", "x"); }), HasSubstr("/proc/absent"));
}

TEST_F(LocalFiles, ManyBlocksArriveWhole) {
  std::string large;
  for (int i = 0; large.size() < 5'000'000; ++i) large += std::to_string(i);
  auto writer = storage_for(folder_).create(folder_ + "/large", Exists::replace);
  for (size_t i = 0; i < large.size(); i += 300'007) {
    writer->append(bytes_of(std::string_view(large).substr(i, 300'007)));
  }
  writer->commit();
  EXPECT_EQ(read_text(folder_ + "/large"), large);
}

TEST(Storage, FolderPartEndsInItsSlash) {
  EXPECT_EQ(folder_part("runs/a/model.ckpt"), "runs/a/");
  EXPECT_EQ(folder_part("/model.ckpt"), "/");
  EXPECT_EQ(folder_part("mem://a/model.ckpt"), "mem://a/");
  EXPECT_EQ(folder_part("model.ckpt"), "");
  EXPECT_EQ(join_path(folder_part("model.ckpt"), "vocab.txt"), "vocab.txt");
}

}  // namespace
}  // namespace bertrain
