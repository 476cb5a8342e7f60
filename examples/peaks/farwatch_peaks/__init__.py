"""How high is the highest value, over all sites?"""
