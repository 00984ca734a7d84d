"""Search for the movies that the goal describes.

world: miniwob
type: multi-orderings
source: written by hand
uses: movie_search
"""


def solve(agent, task):
    search_movies(agent, task.params["genre"], task.params["director"], task.params["year"])
