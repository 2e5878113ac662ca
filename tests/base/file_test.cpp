#include "base/file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <vector>

#include "base/error.hpp"

namespace plimsoll {
namespace {

std::vector<std::pair<FileOperation, std::string>> trace;
FileOperation failing;
int failure;
size_t longest_write;

int hook(FileOperation operation, const char* name, size_t* bytes) {
  trace.emplace_back(operation, name);
  if (bytes && longest_write) *bytes = std::min(*bytes, longest_write);
  return failure && operation == failing ? failure : 0;
}

class File : public testing::Test {
 protected:
  File() {
    std::string name = testing::TempDir() + "plimsoll-file-XXXXXX";
    folder = mkdtemp(name.data());
    trace.clear();
    failure = 0;
    longest_write = 0;
    set_file_hook(hook);
  }
  ~File() override {
    set_file_hook(nullptr);
    std::filesystem::remove_all(folder);
  }
  std::filesystem::path folder;
};

TEST_F(File, IsReplacedWhole) {
  write_durably(folder / "note", "first");
  write_durably(folder / "note", "second");
  EXPECT_EQ(read_file(folder / "note", 100), "second");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(File, DataIsSyncedBeforeItsNameAndTheNameAfter) {
  write_durably(folder / "note", "text");
  std::vector<std::pair<FileOperation, std::string>> expected = {{FileOperation::create, ".note.tmp"},
                                                                 {FileOperation::write, ".note.tmp"},
                                                                 {FileOperation::sync, ".note.tmp"},
                                                                 {FileOperation::rename, "note"},
                                                                 {FileOperation::sync, "."}};
  EXPECT_EQ(trace, expected);
}

TEST_F(File, ShortWritesAreContinued) {
  longest_write = 3;
  write_durably(folder / "note", "a longer text");
  EXPECT_EQ(read_file(folder / "note", 100), "a longer text");
}

TEST_F(File, AFailureKeepsTheOldTextAndSaysWhy) {
  write_durably(folder / "note", "old");
  for (auto [operation, code, words] : {std::tuple{FileOperation::write, ENOSPC, "No space left on device"},
                                        {FileOperation::sync, EIO, "Input/output error"},
                                        {FileOperation::create, EROFS, "Read-only file system"},
                                        {FileOperation::rename, EACCES, "Permission denied"}}) {
    failing = operation;
    failure = code;
    try {
      write_durably(folder / "note", "new");
      FAIL() << words;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
    EXPECT_EQ(read_file(folder / "note", 100), "old");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1)
        << "the temporary file stayed";
  }
}

TEST_F(File, ReadingRefusesWhatIsNotASmallRegularFile) {
  write_durably(folder / "note", "12345");
  EXPECT_EQ(read_file(folder / "note", 5), "12345");
  EXPECT_THROW(read_file(folder / "note", 4), InputError);
  EXPECT_THROW(read_file(folder / "missing", 4), InputError);
  EXPECT_THROW(read_file(folder, 4), InputError);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(read_file(folder / "pipe", 4), InputError);
  InputFile file(folder / "note");
  char bytes[6];
  EXPECT_THROW(file.read(bytes, 6), InputError);
}

TEST_F(File, AFolderIsLockedOnce) {
  Folder one(folder), other(folder);
  EXPECT_TRUE(one.lock());
  EXPECT_FALSE(other.lock());
  one.close();
  EXPECT_TRUE(other.lock());
  EXPECT_THROW(Folder(folder / "missing"), InputError);
}

TEST_F(File, GrowsByWholePieces) {
  AppendFile file;
  ASSERT_EQ(file.open(folder / "lines"), 0);
  EXPECT_EQ(file.last('x'), 'x') << "empty";
  ASSERT_EQ(file.append("one\n", 4), 0);
  ASSERT_EQ(file.append("tw", 2), 0);
  EXPECT_EQ(file.last('x'), 'w');
  AppendFile again;
  ASSERT_EQ(again.open(folder / "lines"), 0);
  ASSERT_EQ(again.append("o\n", 2), 0);
  EXPECT_EQ(read_file(folder / "lines", 100), "one\ntwo\n");
  EXPECT_EQ(AppendFile().open(folder / "no" / "lines"), ENOENT);
  EXPECT_EQ(AppendFile().create(folder / "lines"), EEXIST);
  EXPECT_EQ(AppendFile().create(folder / "fresh"), 0);
}

TEST_F(File, MayBeWrittenOrNot) {
  EXPECT_EQ(may_write(folder), 0);
  EXPECT_EQ(may_write(folder / "nothing"), ENOENT);
  const auto fresh = make_temporary_folder(folder / "fresh-");
  EXPECT_TRUE(std::filesystem::is_directory(fresh));
  EXPECT_EQ(std::filesystem::status(fresh).permissions(), std::filesystem::perms::owner_all);
  EXPECT_THROW(make_temporary_folder(folder / "no" / "fresh-"), Error);
}

}  // namespace
}  // namespace plimsoll
