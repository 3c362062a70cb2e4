# The Python that the module is built for: the build front end's, an active virtual environment's, or .venv's.
if(NOT DEFINED SKBUILD AND NOT DEFINED Python_EXECUTABLE AND NOT DEFINED ENV{VIRTUAL_ENV}
   AND EXISTS "${PROJECT_SOURCE_DIR}/.venv/bin/python")
  set(Python_EXECUTABLE "${PROJECT_SOURCE_DIR}/.venv/bin/python")
endif()

if(ASIO_INFER_PYTHON)
  find_package(Python 3.11 COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module QUIET)
  if(NOT Python_Interpreter_FOUND)
    message(FATAL_ERROR "asio_infer needs Python 3.11 or newer: install the Debian package python3")
  endif()
  if(NOT Python_Development.Module_FOUND)
    message(FATAL_ERROR "Python's headers for ${Python_EXECUTABLE} are missing: install the Debian package "
                        "python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}-dev (or python3-dev)")
  endif()
else()
  find_package(Python 3.11 COMPONENTS Interpreter QUIET)
endif()

set(ASIO_INFER_SITE_PACKAGES "")
if(Python_Interpreter_FOUND)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -c "import site, sysconfig; print(';'.join(dict.fromkeys([sysconfig.get_path('purelib'), sysconfig.get_path('platlib'), *site.getsitepackages()])))"
    OUTPUT_VARIABLE ASIO_INFER_SITE_PACKAGES OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
